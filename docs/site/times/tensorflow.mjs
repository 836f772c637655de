// The programs of against_tensorflow.py in TensorFlow.js: reads "NAME REPEATS" a line, answers with processor microseconds a call.
import * as tf from '@tensorflow/tfjs';
import {setWasmPaths, setThreadsCount} from '@tensorflow/tfjs-backend-wasm';
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';
import {dirname} from 'node:path';

const require = createRequire(process.cwd() + '/');
setWasmPaths(dirname(require.resolve('@tensorflow/tfjs-backend-wasm')) + '/');
setThreadsCount(1);
await tf.setBackend(process.argv[2]);
await tf.ready();

const grid = (rows, columns) => tf.tidy(() => tf.sin(tf.range(0, rows * columns).mul(0.37)).reshape([rows, columns]));
const x = grid(512, 64), w = grid(64, 32), v = grid(32, 1), square = grid(256, 256), long = grid(1, 1000000).reshape([1000000]);
const small = tf.tensor1d([1, 2, 3, 4]);
const network = (w, v) => tf.matMul(tf.tanh(tf.matMul(x, w)), v).square().mean();
const gradient = tf.valueAndGrads(network);
const programs = {
  small: () => small.mul(small).add(1),
  product: () => tf.matMul(square, square),
  chain: () => tf.maximum(long.mul(1.5).add(long), 0.1).mul(long.sub(0.5)).add(tf.abs(long)),
  network: () => { const {value, grads} = gradient([w, v]); return grads[0]; },
};
for await (const line of createInterface({input: process.stdin})) {
  const [name, repeats] = line.split(' ');
  const run = programs[name];
  const start = process.cpuUsage();
  let sum = 0;
  for (let i = 0; i < +repeats; i++) sum += tf.tidy(() => run().dataSync()[0]);
  const used = process.cpuUsage(start);
  console.log((used.user + used.system) / +repeats, sum / +repeats);
}

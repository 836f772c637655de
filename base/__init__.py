"""The ground of all other packages, without meaning of programs: errors, records, machine, locks, LAPACK."""

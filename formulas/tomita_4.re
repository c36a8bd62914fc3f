// Tomita 4: no three 0s in a row
alphabet: 0 1
source: Tomita 1982, grammar 4 (non-empty words)
accept: 0 1 00 001001 1111
reject: 000 0001 1000 01000100
!(.* 000 .*)

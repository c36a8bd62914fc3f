// Flip-flop language (Liu et al. 2023): every read returns the bit written last
alphabet: w r i 0 1
source: Liu et al. 2023, the flip-flop language (also in Yang, Strobl, Chiang and Angluin 2026)
accept: w1i0r1 w0r0w1i0i1r1 w0
reject: w1i0r0 w0r1 r0 w1r i0w1r1
(w0 (r0 | i[01])* | w1 (r1 | i[01])*)+

// Balanced brackets in C-RASP: never more closed than opened, and in the end as many (Yang and Chiang 2024)
alphabet: ( )
accept: () (()()) ()()((()))
reject: ( )( ())( ()))

opened = #"("
closed = #")"
under = opened < closed  // more are closed than opened up to here
balanced = (#under == 0) && (opened == closed)

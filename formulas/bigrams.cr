// As often ab as ba, which is so where a word ends as it begins, in C-RASP
accept: a abba aabbabba
reject: ab abab bbaa baabaa
#import pred

ab = "b" && (#[pred] "a" == 1)
ba = "a" && (#[pred] "b" == 1)
equal = max(#ab, #ba) == min(#ab, #ba)

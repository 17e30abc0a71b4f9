module nutshell

go 1.24

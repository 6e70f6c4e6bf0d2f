std = "luajit"
max_line_length = 100
-- An address can't be broken.
max_comment_line_length = 130
read_globals = { "vim" }
-- Neovim's options and variables are set through fields of `vim`.
globals = { "vim.bo", "vim.b", "vim.g", "vim.o", "vim.wo" }

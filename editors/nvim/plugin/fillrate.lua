-- Only the command: nothing runs, and no key is mapped, before `setup()`.
if vim.g.loaded_fillrate then
  return
end
vim.g.loaded_fillrate = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("fillrate: this needs Neovim 0.11 or newer.", vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command("Fillrate", function(call)
  require("fillrate.command").run(call)
end, {
  nargs = "*",
  bang = true,
  desc = "Statistics, explanations, models and trials of code completion",
  complete = function(lead, line, cursor)
    return require("fillrate.command").complete(lead, line, cursor)
  end,
})

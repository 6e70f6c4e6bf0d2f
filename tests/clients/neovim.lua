-- Drives a real Neovim as a person does: types, waits for ghost text, takes it.
--
-- Run with `nvim -l neovim.lua FILE SERVER…`. The Neovim that is driven is a child
-- of its own, without any configuration or plugin. The text of its buffer at the
-- end goes to standard output.

local file = arg[1]
local server = vim.list_slice(arg, 2)

local child = vim.fn.jobstart({ vim.v.progpath, "--embed", "--headless", "--clean" }, { rpc = true })
assert(child > 0, "the child did not start")

--- Runs Lua in the child.
local function lua(code, ...)
  return vim.rpcrequest(child, "nvim_exec_lua", code, { ... })
end

--- Waits until the child says yes.
local function wait(what, code)
  local yes = vim.wait(20000, function()
    return lua(code)
  end, 20)
  assert(yes, "waited in vain for " .. what .. ": " .. lua("return vim.inspect(vim.api.nvim_exec2('messages', { output = true }))"))
end

lua(
  [[
    local file, server = ...
    vim.cmd.edit(file)
    vim.bo.filetype = "python"
    vim.lsp.start({
      name = "fillrate",
      cmd = server,
      root_dir = vim.fs.dirname(file),
      handlers = {
        ["fillrate/status"] = function(_, status)
          vim.g.fillrate_state = status.state
        end,
      },
    })
    vim.lsp.inline_completion.enable(true)
  ]],
  file,
  server
)
wait("the server", [[return vim.g.fillrate_state == "ready"]])

-- Neovim itself indents the new line.
vim.rpcrequest(child, "nvim_input", "Gob")
wait("ghost text", [[
  for name, id in pairs(vim.api.nvim_get_namespaces()) do
    if name:find("inline_completion", 1, true) then
      local marks = vim.api.nvim_buf_get_extmarks(0, id, 0, -1, { details = true })
      for _, mark in ipairs(marks) do
        if mark[4].virt_text or mark[4].virt_lines then
          return true
        end
      end
    end
  end
  return false
]])
assert(lua("return vim.lsp.inline_completion.get()"), "there was nothing to accept")
wait("the accepted text", [[return vim.api.nvim_get_current_line() ~= "    b"]])
vim.rpcrequest(child, "nvim_input", "<Esc>")
io.stdout:write(table.concat(lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n"), "\n")
vim.fn.jobstop(child)

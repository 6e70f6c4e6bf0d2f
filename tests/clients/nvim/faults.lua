-- The messages after a wrong setup.
--
-- Run with `nvim -l faults.lua SERVER SETTINGS FILE OLD OTHER`: programs that say they are an old
-- fillrate, and something else.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, file, old, other = unpack(arg)

--- Returns the message on opening a file with this program. Expects an error in the health check.
local function message_for(program)
  local person = Person.start()
  person:set_up(program, settings)
  person:lua("vim.cmd.edit(...)", file)
  local message = person:wait("a word", "return said[1] and said[1].message")
  person:lua("vim.cmd.edit(...)", file .. ".copy.py")
  person:lua([[vim.cmd("checkhealth fillrate")]])
  local health = person:text()
  equal(#person:lua("return said"), 1)
  person:leave()
  assert(health:find("ERROR", 1, true), health)
  return message
end

equal(
  message_for("no-such-program"),
  "fillrate: The program `no-such-program` is neither on PATH nor in ~/.cargo/bin: install it "
    .. "(cargo install --path replay, in a checkout of Fillrate), or set the option `cmd` of "
    .. "setup() to its path."
)
equal(
  message_for("/no/such/program"),
  "fillrate: There is no program at /no/such/program: correct the option `cmd` of setup()."
)
equal(
  message_for(old),
  ("fillrate: %s is fillrate 0.0.9, which is too old: this needs 0.1.0 or newer."):format(old)
)
equal(
  message_for(other),
  ("fillrate: %s does not say that it is fillrate when asked for its --version: "):format(other)
    .. 'it says "hello".'
)

-- Options that are not, or not of their kind.
local person = Person.start()
local function refused(options)
  return person:lua(
    [[
      local fine, message = pcall(require("fillrate").setup, ...)
      return fine or message
    ]],
    options
  )
end
equal(refused({ colour = 1 }), "fillrate: There is no option `colour`: see :help fillrate-options.")
equal(
  refused({ filetypes = "python" }),
  'fillrate: The option `filetypes` must be a list of file types, not "python".'
)
equal(
  refused({ debounce_ms = -1 }),
  "fillrate: The option `debounce_ms` must be a whole number of milliseconds, 0 or more, not -1."
)
equal(
  refused({ keys = { acept = "<Tab>" } }),
  "fillrate: There is no key `keys.acept`: see :help fillrate-keys."
)
equal(
  refused({ keys = { dismiss = "<C-I>" } }),
  "fillrate: The keys `keys.accept` and `keys.dismiss` are both <C-I>."
)
equal(refused({ keys = { accept = false, dismiss = "<C-I>" } }), true)
equal(
  refused({ enabled = 1 }),
  "fillrate: The option `enabled` must be true, false or a function of a buffer, not 1."
)
equal(
  refused({ core = true, auto_trigger = false }),
  "fillrate: The option `core` needs `auto_trigger`: Neovim's inline completion has no manual "
    .. "trigger."
)
person:leave()

-- The message is no error among the autocommands, so those that come after it run; the status line
-- says what is wrong, and why nothing is shown in other types of files.
person = Person.start()
person:set_up("no-such-program", settings)
person:lua([[
  -- As Neovim's own, without its prompt after a long message.
  vim.notify = function(message)
    table.insert(said, { message = message })
    vim.api.nvim_echo({ { message:sub(1, 40) } }, true, { err = true })
  end
  vim.api.nvim_create_autocmd("FileType", {
    callback = function(event)
      after = event.match
    end,
  })
]])
equal(person:lua([[return (pcall(vim.cmd.edit, ...))]], file), true)
equal(person:lua("return after"), "python")
person:wait("the message", "return said[1]")
equal(
  person:lua([[return require("fillrate").statusline()]]),
  "fillrate: fault: the program can't be used, see :checkhealth fillrate"
)
person:lua("vim.cmd.edit(...)", file .. ".md")
equal(
  person:lua([[return require("fillrate").statusline()]]),
  "fillrate: silent (not among `filetypes`: markdown)"
)
person:leave()

-- Neovim's own message fits in its last line, so that nothing has to be pressed; the command gives
-- all of it.
person = Person.start({ width = 60 })
person:set_up("no-such-program", settings)
person:lua("vim.notify = own_notify")
person:keys(":edit " .. file .. "<CR>")
person:wait("the message", [[return vim.v.errmsg:find("See :Fillrate", 1, true) ~= nil]])
equal(person:mode(), { blocking = false, mode = "n" })
person:keys(":Fillrate<CR>")
assert(vim.wait(20000, function()
  return person:mode().blocking
end, 5))
person:keys("<CR>")
assert(vim.wait(20000, function()
  return not person:mode().blocking
end, 5))
local messages = person:said().messages
assert(messages:find("of setup() to its path", 1, true), messages)
person:leave()

-- The answer to a command is shown whole.
person = Person.start({ width = 60 })
person:set_up(server, settings)
person:lua("vim.notify = own_notify")
person:lua("vim.cmd.edit(...)", file .. ".md")
person:keys(":Fillrate toggle filetype<CR>")
assert(vim.wait(20000, function()
  return person:mode().blocking
end, 5))
person:keys("<CR>")
person:wait("the answer", [[return vim.v.errmsg:find("option `filetypes`", 1, true) ~= nil]])
-- A key that requests a completion says why it does not.
person:lua("vim.notify = function(message) table.insert(said, message) end")
person:lua("vim.cmd.edit(...)", file)
person:lua([[require("fillrate").toggle()]])
person:lua([[require("fillrate").trigger()]])
person:wait(
  "the reason",
  [[return (said[#said] or ""):find("Completions are off", 1, true) ~= nil]]
)
person:leave()

-- A program that is corrected is used for what is opened then.
local corrected = vim.fn.tempname()
person = Person.start()
person:set_up(corrected, settings)
person:lua("vim.cmd.edit(...)", file)
person:wait("the message", "return said[1]")
vim.uv.fs_symlink(server, corrected)
person:lua("vim.cmd.edit()")
person:open(file)
equal(person:lua([[return require("fillrate.server").problem()]]), vim.NIL)
person:leave()

-- A server that stops by itself is started again, for every buffer that it had.
person = Person.start()
person:set_up(server, settings)
person:open(file)
local first = person:lua([[return vim.lsp.get_clients({ name = "fillrate" })[1].id ]])
person:lua([[vim.fn.system("pkill -KILL -P " .. vim.fn.getpid() .. " fillrate")]])
person:wait(
  "another server",
  [[
    local client = vim.lsp.get_clients({ name = "fillrate", bufnr = 0 })[1]
    return client and client.initialized and client.id ~= ...
  ]],
  first
)
local message = person:lua([[
  -- Neovim has a word of its own on it.
  return vim.tbl_filter(function(one)
    return vim.startswith(one.message, "fillrate: ")
  end, said)[1].message
]])
equal(message, "fillrate: The server stopped (code 0, signal 9), and is started again.")
person:leave()

-- cargo's folder is searched after PATH.
local home = vim.fn.tempname()
vim.fn.mkdir(home .. "/.cargo/bin", "p")
vim.uv.fs_symlink(server, home .. "/.cargo/bin/fillrate")
person = Person.start()
person:lua([[vim.env.HOME, vim.env.PATH = ..., "/nowhere"]], home)
person:set_up("fillrate", settings)
equal(person:lua([[return require("fillrate.server").program()]]), home .. "/.cargo/bin/fillrate")
person:open(file)
person:leave()

-- A check-up names the files that the settings come from: the person's, then the project's.
local project = vim.fn.tempname()
for _, path in ipairs({ home .. "/fillrate/fillrate.toml", project .. "/fillrate.toml" }) do
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  vim.fn.writefile({ "[typing]", "wait_ms = 0" }, path)
end
vim.fn.writefile({ "" }, project .. "/open.py")
person = Person.start()
person:lua([[vim.env.XDG_CONFIG_HOME = ...]], home)
person:lua([[require("fillrate").setup({ cmd = ... })]], server)
person:open(project .. "/open.py")
person:lua([[vim.cmd("checkhealth fillrate")]])
local named = ("Settings: %s/fillrate/fillrate.toml, then over it %s/fillrate.toml"):format(
  home,
  project
)
assert(person:text():find(named, 1, true), person:text())
person:leave()

-- A fault of the model's server is reported once, with its cause, what to do, and none of the
-- server's words; nothing has to be pressed, and the next fault is reported as well.
local answer = 404
local listener = assert(vim.uv.new_tcp())
listener:bind("127.0.0.1", 0)
listener:listen(8, function()
  local connection = assert(vim.uv.new_tcp())
  listener:accept(connection)
  local request = ""
  connection:read_start(function(_, piece)
    request = request .. (piece or "")
    if vim.endswith(request, "}") then
      local body = vim.json.encode({ error = ("BODY "):rep(200) })
      connection:write(
        ("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"):format(
          answer,
          #body,
          body
        )
      )
      request = ""
    end
  end)
end)
vim.fn.writefile({
  "[model]",
  'protocol = "openai-completions"',
  ('url = "http://127.0.0.1:%d"'):format(listener:getsockname().port),
  'name = "qwen2.5-coder"',
  "retries = 0",
  "[typing]",
  "wait_ms = 0",
}, project .. "/failing.toml")
person = Person.start({ width = 70 })
person:set_up(server, project .. "/failing.toml")
person:open(project .. "/open.py")
person:lua("vim.notify = own_notify")
--- Waits for an error of the plugin that holds a text, and gives all errors since.
local function fault_of(text)
  person:wait(text, "return vim.v.errmsg:find(..., 1, true) ~= nil", text)
  equal(person:mode(), { blocking = false, mode = "i" })
  local all = person:said().messages
  assert(not all:find("BODY", 1, true), all)
  return select(2, all:gsub("fillrate: ", ""))
end
person:keys("oa = ")
equal(fault_of("model or address is unknown."), 1)
equal(
  person:lua([[return require("fillrate").statusline()]]),
  "fillrate: fault: model or address is unknown"
)
person:keys("b + ")
vim.wait(500)
equal(fault_of("model or address is unknown."), 1)
answer = 403
person:keys("c + ")
equal(fault_of("access was denied."), 2)
-- What typing wiped off the last line is said again to a person who stops.
person:lua("vim.v.errmsg = ''")
person:keys("<Esc>")
person:wait("the fault", [[return vim.v.errmsg:find("access was denied.", 1, true) ~= nil]])
equal(person:mode(), { blocking = false, mode = "n" })
person:leave()
listener:close()

-- What is wrong with settings is said in one line, in the check-up and by the command, without a
-- trace of the stack; a correction is in force once the file is opened again.
local missing = {
  "[model]",
  'protocol = "mistral-fim"',
  'name = "codestral-latest"',
  'key_env = "NO_SUCH_KEY"',
}
for words, lines in pairs({
  ["there is no setting `modle`"] = { 'modle = "x"' },
  ["the environment variable NO_SUCH_KEY"] = missing,
}) do
  vim.fn.writefile(lines, project .. "/wrong.toml")
  person = Person.start()
  person:set_up(server, project .. "/wrong.toml")
  person:lua("vim.notify = own_notify")
  person:keys(":edit " .. project .. "/open.py<CR>")
  local begins = words:sub(1, 20)
  person:wait(words, "return vim.v.errmsg:find(..., 1, true)", begins)
  vim.wait(500)
  equal(person:mode(), { blocking = false, mode = "n" })
  local said = person:said()
  assert(vim.startswith(said.errmsg, "fillrate: "), said.errmsg)
  assert(not said.messages:find("stack traceback", 1, true), said.messages)
  assert(not said.messages:find("quit with exit code", 1, true), said.messages)
  equal(
    person:lua([[return require("fillrate").statusline()]]),
    "fillrate: fault: the settings can't be used, see :Fillrate"
  )
  -- What is typed wipes the message off the last line.
  person:lua("vim.v.errmsg = ''")
  person:keys("i<Esc>")
  person:wait("the fault again", "return vim.v.errmsg:find(..., 1, true)", begins)
  person:lua([[vim.notify = function(message) said = { message } end]])
  for command, beginning in pairs({
    ["Fillrate"] = "fillrate: fault: The settings can't be used. ",
    ["Fillrate explain"] = "fillrate: The settings can't be used. ",
  }) do
    person:lua("said = {}; vim.cmd(...)", command)
    local words_said = person:wait(command, "return said[1]")
    assert(vim.startswith(words_said, beginning) and words_said:find(words, 1, true), words_said)
  end
  person:lua([[vim.cmd("checkhealth fillrate")]])
  assert(person:text():find(words, 1, true), person:text())
  vim.fn.writefile({ "[typing]", "wait_ms = 0" }, project .. "/wrong.toml")
  person:lua("vim.cmd.edit(...)", project .. "/open.py")
  person:lua("vim.cmd.edit()")
  person:open(project .. "/open.py")
  equal(person:lua([[return require("fillrate").statusline()]]), "fillrate: embedded")
  person:leave()
end

-- Prose that the option names is completed without a further setting, and its switch tells the truth.
local notes = vim.fn.tempname() .. ".md"
vim.fn.writefile(vim.fn["repeat"]({ "- the kettle is on the stove", "" }, 12), notes)
person = Person.start()
person:set_up(server, settings, { filetypes = { "python", "markdown" } })
person:open(notes)
person:keys("Go- the kettle")
person:wait_for_ghost()
person:keys("<Esc>")
person:lua([[said = {}; vim.cmd("Fillrate toggle filetype")]])
equal(
  person:wait("the answer", "return said[1] and said[1].message"),
  "fillrate: Completions are off for markdown."
)
person:leave()

-- The specification for lazy.nvim that the page prints works from the project's top folder, which is
-- what lazy.nvim puts on 'runtimepath'.
local top = vim.fs.normalize(vim.fs.dirname(vim.fs.abspath(arg[0])) .. "/../../..")
local page = table.concat(vim.fn.readfile(top .. "/editors/nvim/README.md"), "\n")
local specification = assert(page:match("```lua\n(return {.-\n})\n```"), "the page prints none")
person = Person.start({ plugin = top })
equal(person:lua("return vim.fn.exists(':Fillrate')"), 0)
person:lua(
  [[
    local code, top = ...
    local plugin = load(code)()
    assert(plugin[1]:find("/fillrate", 1, true))
    plugin.config({ dir = top })
  ]],
  specification,
  top
)
equal(person:lua("return vim.fn.exists(':Fillrate')"), 2)
person:set_up(server, settings)
person:open(file)
person:leave()

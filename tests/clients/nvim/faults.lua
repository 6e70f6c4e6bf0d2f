-- The messages after a wrong setup.
--
-- Run with `nvim -l faults.lua SERVER SETTINGS FILE OLD OTHER`: programs that say they are an old
-- fillrate, and something else.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local _, settings, file, old, other = unpack(arg)

--- What is said on opening a file with this program, and in a check-up.
local function told(program)
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
  told("no-such-program"),
  "fillrate: The program `no-such-program` is not on PATH: install it (cargo install --path "
    .. "replay, in a checkout of Fillrate), or tell its path by the option `cmd` of setup()."
)
equal(
  told("/no/such/program"),
  "fillrate: There is no program at /no/such/program: correct the option `cmd` of setup()."
)
equal(
  told(old),
  ("fillrate: %s is fillrate 0.0.9, which is too old: this needs 0.1.0 or newer."):format(old)
)
equal(
  told(other),
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

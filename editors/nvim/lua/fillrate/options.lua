--- The options of `setup()`: their defaults, and what is wrong with them.

local M = {}

--- Keys in insert mode, each of which is mapped only while there is ghost text. `false` leaves
--- one out.
--- @class fillrate.Keys
--- @field accept string|false takes the ghost text
--- @field accept_word string|false takes its next word
--- @field accept_line string|false takes what is left of its line, or else the next line
--- @field next string|false shows the next candidate
--- @field previous string|false shows the candidate before
--- @field dismiss string|false hides the ghost text
--- @field trigger string|false requests ghost text here; mapped in every buffer with a server

--- @class fillrate.Options
--- @field cmd string the `fillrate` program: a name on `PATH`, or a path
--- @field args string[] further arguments of `fillrate serve`
--- @field settings table settings as in `fillrate.toml`, laid over the files
--- @field filetypes string[] where completions are given
--- @field root_markers string[] files and folders that mark a project's root
--- @field enabled boolean|fun(buf: integer): boolean? true if completions are on at the start; a function
--- decides for each request
--- @field auto_trigger boolean true if typing requests ghost text; otherwise only `keys.trigger` does
--- @field hide_with_menu boolean true if ghost text is hidden while a completion menu is open
--- @field core boolean whether Neovim's own inline completion shows them, where it has that
--- @field debounce_ms integer without `core`: the wait after a key before the server is asked
--- @field keys fillrate.Keys

--- Options that `setup()` takes. Those that are left out have their defaults.
--- @class fillrate.GivenOptions
--- @field cmd? string
--- @field args? string[]
--- @field settings? table
--- @field filetypes? string[]
--- @field root_markers? string[]
--- @field enabled? boolean|fun(buf: integer): boolean?
--- @field auto_trigger? boolean
--- @field hide_with_menu? boolean
--- @field core? boolean
--- @field debounce_ms? integer
--- @field keys? table<string, string|false>

--- @type fillrate.Options
M.defaults = {
  cmd = "fillrate",
  args = {},
  settings = {},
  filetypes = {
    "python",
    "typescript",
    "typescriptreact",
    "javascript",
    "javascriptreact",
    "go",
    "java",
    "cs",
  },
  root_markers = { "fillrate.toml", ".git", "pyproject.toml", "package.json", "go.mod", "pom.xml" },
  enabled = true,
  auto_trigger = true,
  hide_with_menu = true,
  -- Neovim's own waits 200 ms after every key, and no option shortens that.
  core = false,
  -- The server has its own rhythm, so this only keeps a burst of keys from being many requests.
  debounce_ms = 10,
  keys = {
    accept = "<Tab>",
    accept_word = "<M-w>",
    accept_line = "<M-l>",
    next = "<M-n>",
    previous = "<M-p>",
    dismiss = "<C-]>",
    trigger = "<M-Bslash>",
  },
}

--- Prose and data, by Vim's file types: the server offers nothing in them unless settings say so.
M.prose = vim.split(
  "asciidoc asciidoctor bib csv diff patch env gitcommit hgcommit jjdescription gitrebase json "
    .. "json5 jsonc jsonl tex plaintex log mail markdown pandoc quarto rmd org text help "
    .. "properties rst tsv",
  " "
)

--- Those in force; nothing before `setup()`.
--- @type fillrate.Options?
M.current = nil

--- @param value any
--- @return boolean
local function is_texts(value)
  return vim.islist(value)
    and vim.iter(value):all(function(text)
      return type(text) == "string"
    end)
end

--- Valid values by option: a function that tests a value, and its description for messages.
--- @type table<string, [fun(value: any): boolean, string]>
local kinds = {
  cmd = {
    function(value)
      return type(value) == "string" and value ~= ""
    end,
    "the name or path of the program `fillrate`",
  },
  args = { is_texts, "a list of strings" },
  settings = {
    function(value)
      return type(value) == "table" and (next(value) == nil or not vim.islist(value))
    end,
    "a table with the keys of fillrate.toml",
  },
  filetypes = { is_texts, "a list of file types" },
  root_markers = { is_texts, "a list of names" },
  debounce_ms = {
    function(value)
      return type(value) == "number" and value >= 0 and value % 1 == 0
    end,
    "a whole number of milliseconds, 0 or more",
  },
  keys = {
    function(value)
      return type(value) == "table"
    end,
    "a table of keys",
  },
}
kinds.enabled = {
  function(value)
    return type(value) == "boolean" or vim.is_callable(value)
  end,
  "true, false or a function of a buffer",
}
for _, name in ipairs({ "auto_trigger", "hide_with_menu", "core" }) do
  kinds[name] = {
    function(value)
      return type(value) == "boolean"
    end,
    "true or false",
  }
end

--- Returns one sentence for each invalid option; empty if all are valid.
---
--- @param given any
--- @return string[]
function M.faults(given)
  if type(given) ~= "table" then
    return { ("setup() takes a table of options, not a %s."):format(type(given)) }
  end
  local faults = {}
  for name, value in vim.spairs(given) do
    local kind = kinds[name]
    if not kind then
      table.insert(faults, ("There is no option `%s`: see :help fillrate-options."):format(name))
    elseif not kind[1](value) then
      table.insert(
        faults,
        ("The option `%s` must be %s, not %s."):format(name, kind[2], vim.inspect(value))
      )
    end
  end
  local by_lhs = {}
  for name, lhs in vim.spairs(type(given.keys) == "table" and given.keys or {}) do
    if M.defaults.keys[name] == nil then
      table.insert(faults, ("There is no key `keys.%s`: see :help fillrate-keys."):format(name))
    elseif lhs ~= false and (type(lhs) ~= "string" or lhs == "") then
      table.insert(
        faults,
        ("The key `keys.%s` must be a key such as <Tab>, or false, not %s."):format(
          name,
          vim.inspect(lhs)
        )
      )
    end
  end
  if given.core == true and given.auto_trigger == false then
    table.insert(
      faults,
      "The option `core` needs `auto_trigger`: Neovim's inline completion has no manual trigger."
    )
  end
  if #faults == 0 then
    local keys = vim.tbl_extend("force", M.defaults.keys, given.keys or {})
    for name, lhs in vim.spairs(keys) do
      local raw = lhs and vim.keycode(lhs)
      if raw and by_lhs[raw] then
        table.insert(
          faults,
          ("The keys `keys.%s` and `keys.%s` are both %s."):format(by_lhs[raw], name, lhs)
        )
      elseif raw then
        by_lhs[raw] = name
      end
    end
  end
  return faults
end

--- Puts options in force.
---
--- @param given? fillrate.GivenOptions
function M.set(given)
  given = given or {}
  local faults = M.faults(given)
  if #faults > 0 then
    error("fillrate: " .. table.concat(faults, " "), 0)
  end
  local options = vim.tbl_extend("force", M.defaults, given)
  options.keys = vim.tbl_extend("force", M.defaults.keys, given.keys or {})
  M.current = options
end

return M

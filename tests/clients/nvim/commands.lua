-- The words of `:Fillrate`, its windows, and what else is read rather than typed.
--
-- Run with `nvim -l commands.lua SERVER SETTINGS FILE`. The settings name the models `plain` and
-- `wild` beside the embedded one.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, file = unpack(arg)
local person = Person.start({ width = 80, height = 40 })

--- Gives a command, and waits for what it says.
local function say(command, wanted)
  person:lua("said = {}; vim.cmd(...)", command)
  local message = person:wait("an answer to " .. command, "return said[1] and said[1].message")
  if not message:find(wanted, 1, true) then
    equal(message, wanted)
  end
end

--- Returns the completions of a command line.
local function goes_on(line)
  return person:lua("return vim.fn.getcompletion(..., 'cmdline')", line)
end

--- Gives a command, waits for its window, reads it and closes it.
local function read(command)
  person:lua("vim.cmd(...)", command)
  person:wait("a window", "return vim.api.nvim_win_get_config(0).relative ~= ''")
  local text = person:text()
  -- Tables fit; only text of a file may be wider.
  local columns = person:lua("return vim.api.nvim_win_get_width(0)")
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local fits = vim.fn.strdisplaywidth(line) <= columns
    assert(fits or not command:find("stats"), ("wider than %d: %s"):format(columns, line))
  end
  person:keys("q")
  person:wait("its end", "return vim.api.nvim_win_get_config(0).relative == ''")
  return text
end

--- Fails unless a text holds another.
local function holds(text, wanted)
  assert(text:find(wanted, 1, true), ("%s\nholds no %s"):format(text, wanted))
end

-- `setup()` indexes the help, which has no two tags of one name, and the command leads to it.
local copy = vim.fn.tempname()
person:lua(
  [[
    local copy = ...
    vim.fn.mkdir(copy .. "/doc", "p")
    local help = vim.api.nvim_get_runtime_file("doc/fillrate.txt", false)[1]
    vim.uv.fs_copyfile(help, copy .. "/doc/fillrate.txt")
    vim.opt.runtimepath:prepend(copy)
  ]],
  copy
)

-- Before `setup()` the command says what to do, and nothing else happens.
say("Fillrate stats", 'Call require("fillrate").setup() first')
equal(goes_on("Fillrate "), {})
person:set_up(server, settings)
person:wait("the index", "return vim.uv.fs_stat(... .. '/doc/tags')", copy)
person:lua(
  [[
  vim.cmd.helptags(... .. "/doc")
  vim.cmd.help(":Fillrate-trial")
  vim.cmd.helpclose()
]],
  copy
)
-- Each tag that the help refers to is there.
person:lua([[
  local help = vim.api.nvim_get_runtime_file("doc/fillrate.txt", false)[1]
  local all = table.concat(vim.fn.readfile(help), "\n")
  for tag in all:gmatch("|([^|%s]+)|") do
    assert(#vim.fn.getcompletion(tag, "help") > 0, "there is no help for " .. tag)
  end
]])
say("Fillrate stats", "No server runs")
person:open(file)

-- Completion of arguments.
equal(
  goes_on("Fillrate "),
  { "candidates", "explain", "model", "purge", "snooze", "stats", "toggle", "trial" }
)
equal(goes_on("Fillrate t"), { "toggle", "trial" })
equal(goes_on("Fillrate model "), { "default", "plain", "wild" })
equal(goes_on("Fillrate trial st"), { "start", "stop" })
equal(goes_on("Fillrate trial start plain w"), { "wild" })
equal(goes_on("Fillrate trial start plain wild unit=p"), { "unit=pairs" })

-- A state without anything to add names the plugin once.
person:wait("the server", [[return require("fillrate").statusline() == "fillrate: embedded"]])
say("Fillrate", "embedded")
equal(person:lua("return said[1].message"), "fillrate: embedded")

-- What can't be is said in one sentence.
say("Fillrate start", "`:Fillrate start` is not known")
say("Fillrate model none", "There is no model `none`; there are: default, plain, wild.")
say("Fillrate trial start plain", "A trial needs two models")
say("Fillrate trial start plain none", "There is no model `none` to try.")
say("Fillrate trial start plain wild unit=week", "`unit=week` says nothing of a trial")
say("Fillrate stats week", "takes a number of days")
say("Fillrate snooze soon", "`:Fillrate snooze` takes minutes up to 1440, not `soon`.")
say("Fillrate candidates", "`:Fillrate candidates` takes one of 1, 2, 3, 5.")
say("Fillrate candidates 4", "takes one of 1, 2, 3, 5, not `4`.")
say("Fillrate toggle now", "`:Fillrate toggle` takes `buffer` or `filetype`, not `now`.")
-- Where no type of file is served, a switch does nothing and does not claim to, and that is why there
-- is nothing to explain.
person:lua([[vim.cmd("new"); vim.bo.filetype = "markdown"]])
for _, words in ipairs({ "toggle buffer", "toggle filetype", "explain" }) do
  say(
    "Fillrate " .. words,
    "There are no completions for markdown: add it to the option `filetypes`."
  )
end
person:lua([[vim.cmd("bwipeout!")]])
equal(goes_on("Fillrate toggle "), { "buffer", "filetype" })

--- Waits for a statusline.
local function await_status(wanted)
  person:wait(
    "the statusline " .. wanted,
    "return require('fillrate').statusline() == ...",
    "fillrate: " .. wanted
  )
end

-- Models and trials.
await_status("embedded")
-- As lualine asks a component.
equal(
  person:lua([[
    package.loaded["lualine.component"] = {
      extend = function()
        return {}
      end,
    }
    return require("lualine.components.fillrate").update_status()
  ]]),
  "fillrate: embedded"
)
say("Fillrate model plain", "The model `plain` is selected.")
await_status("plain")
say("Fillrate trial", "No trial runs.")
say("Fillrate trial start plain wild unit=session seed=3 blind", "The trial of plain, wild began.")
await_status("blind trial")
say("Fillrate trial", "A trial of plain, wild runs, assigned by session with seed 3, blind.")
say("Fillrate candidates 3", "A trial is under way, which has its own settings")
say("Fillrate trial stop", "The trial is over.")
await_status("plain")
say("Fillrate trial start default wild", "The trial of default, wild began.")
say("Fillrate model plain", "The model `plain` is selected, and the trial is over.")
await_status("plain")
person:lua([[vim.ui.select = function(items, options, choose)
  offered = vim.tbl_map(options.format_item, items)
  choose(items[1])
end]])
say("Fillrate model", "The model `default` is selected.")
local offered = person:lua("return offered")
equal(#offered, 3)
equal(offered[2]:match("^%* plain – .+$") ~= nil, true)
await_status("embedded")

-- Several candidates, each at the other's place.
say("Fillrate model wild", "The model `wild` is selected.")
say("Fillrate candidates 5", "5 candidates are requested: <M-n> shows the next.")
await_status("wild")
person:keys("Godef total(width, height):<CR>total = ")
--- The ghost text without the number of the candidate behind it.
local function candidate()
  return (person:wait_for_ghost():gsub(" %(%d+/%d+%)$", ""))
end
local first = candidate()
person:keys("<M-n>")
local second
assert(vim.wait(20000, function()
  second = candidate()
  return second ~= first
end, 5))
person:keys("<M-p>")
assert(vim.wait(20000, function()
  return candidate() == first
end, 5))
person:keys("<M-n>")
vim.wait(50)
person:keys("<Tab>")
person:wait(
  "the second candidate",
  "return vim.api.nvim_get_current_line():find('total = ' .. ..., 1, true) ~= nil",
  second
)
person:keys("<Esc>")

-- The trace of a completion here.
say("Fillrate model default", "The model `default` is selected.")
await_status("embedded")
person:keys("Godef total(width, height):<CR>total = <Esc>")
local explained = read("Fillrate explain")
holds(explained, "# What was offered")
holds(explained, "One candidate.")
holds(explained, "Model: ")
holds(explained, "| model | ")
holds(explained, "## What the model wrote, 1")
-- It is shown as what it means: the fences of code are not there to be seen.
person:lua([[vim.cmd("Fillrate explain")]])
person:wait("the window", "return vim.api.nvim_win_get_config(0).relative ~= ''")
holds(person:text(), "```")
local shown = person:screen()
holds(shown, "Candidate 1")
assert(not shown:find("```", 1, true), shown)
person:keys("q")

-- A snooze is over when its minutes are, and when completions are switched on.
local snoozed = "return require('fillrate').statusline():find('snoozed until', 1, true) ~= nil"
say("Fillrate snooze 0.001", "Completions are off until ")
await_status("embedded")
say("Fillrate snooze", "Completions are off until ")
person:wait("the snooze", snoozed)
holds(read("Fillrate explain"), "Completions are snoozed until ")
say("Fillrate toggle", "Completions are on.")
await_status("embedded")

-- A language that the settings have off is switched on by hand.
person:lua([[require("fillrate.server").choose({ languages = { python = false } })]])
person:keys("Godef total(width, height):<CR>total = ")
person:wait(
  "silence",
  [[
  local server = require("fillrate.server")
  return server.language_off(vim.api.nvim_get_current_buf()) == "python"
]]
)
person:keys("<Esc>")
holds(read("Fillrate explain"), "No model was asked.")
say("Fillrate toggle filetype", "Completions are on for python.")
person:keys("Godef total(width, height):<CR>total = ")
person:wait_for_ghost()
person:keys("<Esc>")

io.stdout:write(
  vim.json.encode({ stats = read("Fillrate stats"), days = read("Fillrate stats 1") })
)

-- Nothing is wrong, in the words of the check-up.
person:lua([[vim.cmd("checkhealth fillrate")]])
person:wait("the check-up", "return vim.bo.filetype == 'checkhealth'")
local health = person:text()
for _, wanted in ipairs({
  "Ghost text is shown by this plugin",
  "is fillrate ",
  "It is ready, ",
  "Settings: " .. settings,
  "Model default: ",
  "without code. Nothing is sent.",
  "<Tab> takes accept while there is ghost text",
}) do
  holds(health, wanted)
end
assert(not health:find("ERROR") and not health:find("WARNING"), health)
person:keys(":bdelete<CR>")

-- A collector is named.
person:lua([[
  require("fillrate.server").choose({ telemetry = { otlp_url = "http://127.0.0.1:9" } })
]])
person:wait(
  "the collector",
  [[
    local server = require("fillrate.server")
    local models = server.models(server.clients()[1])
    return models and models.telemetry.sendsTo
  ]]
)
person:lua([[vim.cmd("checkhealth fillrate")]])
person:wait("the check-up", "return vim.bo.filetype == 'checkhealth'")
holds(
  person:text(),
  "without code. Latencies and outcomes are sent to http://127.0.0.1:9/v1/metrics."
)
person:keys(":bdelete<CR>")

-- A question comes before everything that was noted is removed.
person:lua([[vim.fn.confirm = function(question)
  asked = question
  return 2
end]])
person:lua([[vim.cmd("Fillrate purge")]])
equal(person:lua("return asked"), "Remove everything that Fillrate noted on this machine?")
say("Fillrate! purge", "records were removed.")
person:leave()

--- `:Fillrate` and its subcommands.

local server = require("fillrate.server")

local M = {}

--- Function that runs a command, with the words after the first and true for a `!`.
--- @alias fillrate.Run fun(words: string[], bang: boolean)

--- @param fact string
local function say(fact)
  server.say(fact, vim.log.levels.INFO, true)
end

--- Reports why a command does nothing. The answer to a command is never shortened.
---
--- @param reason string
local function refuse(reason)
  server.say(reason, vim.log.levels.ERROR, true)
end

--- @param words string[]
--- @param most integer
--- @return boolean
local function too_many(words, most)
  if #words <= most then
    return false
  end
  refuse(("There is a word too many: %s. See :help :Fillrate."):format(words[most + 1]))
  return true
end

--- @param words string[]
local function stats(words)
  local days = words[1]
  if too_many(words, 1) then
    return
  end
  if days and not days:match("^%d+$") then
    refuse(("`:Fillrate stats` takes a number of days, not %s."):format(days))
    return
  end
  local client = server.client()
  if not client then
    return
  end
  server.ask(client, "fillrate/models", {}, function(models)
    local arguments = { "telemetry", "stats", "--store", models.telemetry.path }
    if days then
      vim.list_extend(arguments, { "--days", days })
    end
    local window = require("fillrate.window")
    server.run(arguments, window.columns(), function(output)
      local lines = vim.split(vim.trim(output), "\n")
      if not models.telemetry.enabled then
        table.insert(lines, "")
        table.insert(lines, "Nothing is noted now: telemetry.enabled is false.")
      end
      window.open("Fillrate statistics", lines)
    end)
  end)
end

--- @param words string[]
local function explain(words)
  local buf = vim.api.nvim_get_current_buf()
  local client = server.clients(buf)[1]
  if too_many(words, 0) then
    return
  end
  if not client then
    refuse(
      require("fillrate.buffers").unserved(buf)
        or server.problem()
        or "No server has this buffer, so there is nothing to explain here."
    )
    return
  end
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  server.ask(client, "fillrate/explain", params, function(explanation)
    if not explanation then
      refuse("The server can't complete here yet: it is starting, or does not know this file.")
      return
    end
    local off = require("fillrate.buffers").why_off(buf)
    local lines = require("fillrate.window").explained(explanation, off)
    require("fillrate.window").open("How this completion comes about", lines, "markdown")
  end)
end

--- @param name string
--- @param models fillrate.Models
local function use(name, models)
  local known = vim.iter(models.models):any(function(model)
    return model.name == name
  end)
  if not known then
    local names = vim.tbl_map(function(model)
      return model.name
    end, models.models)
    refuse(("There is no model `%s`; there are: %s."):format(name, table.concat(names, ", ")))
    return
  end
  local settings = server.chosen()
  settings.use = name
  -- A trial overrides choices, so choosing ends it.
  settings.trial = models.trial and vim.NIL or nil
  server.choose(settings)
  say(
    ("The model `%s` is selected%s."):format(name, models.trial and ", and the trial is over" or "")
  )
end

--- @param words string[]
local function model(words)
  local client = server.client()
  if too_many(words, 1) or not client then
    return
  end
  server.ask(client, "fillrate/models", {}, function(models)
    if words[1] then
      use(words[1], models)
      return
    end
    vim.ui.select(models.models, {
      prompt = "Which model answers?",
      format_item = function(item)
        return ("%s%s – %s"):format(item.active and "* " or "  ", item.name, item.about)
      end,
    }, function(item)
      if item then
        use(item.name, models)
      end
    end)
  end)
end

local CANDIDATES = { "1", "2", "3", "5" }

--- @param words string[]
local function candidates(words)
  local client = server.client()
  if too_many(words, 1) or not client then
    return
  end
  if not vim.list_contains(CANDIDATES, words[1]) then
    local instead = words[1] and (", not `%s`"):format(words[1]) or ""
    refuse(
      ("`:Fillrate candidates` takes one of %s%s."):format(table.concat(CANDIDATES, ", "), instead)
    )
    return
  end
  server.ask(client, "fillrate/models", {}, function(models)
    if models.trial then
      refuse("A trial is under way, which has its own settings: `:Fillrate trial stop` ends it.")
      return
    end
    local settings = server.chosen()
    for _, item in ipairs(models.models) do
      if item.active then
        local path = item.name == "default" and { "model" } or { "models", item.name }
        local own = settings
        for _, key in ipairs(path) do
          own[key] = own[key] or {}
          own = own[key]
        end
        own.candidates = tonumber(words[1])
      end
    end
    server.choose(settings)
    local next_key = assert(require("fillrate.options").current).keys.next
    say(
      words[1] == "1" and "One candidate is requested."
        or ("%s candidates are requested%s."):format(
          words[1],
          next_key and (": %s shows the next"):format(next_key) or ""
        )
    )
  end)
end

--- @param running fillrate.Models.trial
--- @return string
local function described(running)
  return ("A trial of %s runs, assigned by %s with seed %s%s."):format(
    table.concat(running.models, ", "),
    running.unit,
    running.seed,
    running.blind and ", blind" or ""
  )
end

local UNITS = { "request", "session", "day", "pairs" }

--- The settings of a trial.
---
--- @param words string[] names of models, and `unit=`, `seed=`, `blind`
--- @return table? trial
--- @return string? fault why there is none
local function trial_of(words)
  local trial = { models = {} }
  for _, word in ipairs(words) do
    local key, value = word:match("^(%a+)=(.*)$")
    if key == "unit" and vim.list_contains(UNITS, value) then
      trial.unit = value
    elseif key == "seed" and value:match("^%d+$") then
      trial.seed = tonumber(value)
    elseif key then
      return nil,
        ("`%s` says nothing of a trial: unit=%s or seed=NUMBER does."):format(
          word,
          table.concat(UNITS, "|")
        )
    elseif word == "blind" then
      trial.blind = true
    else
      table.insert(trial.models, word)
    end
  end
  if #trial.models < 2 then
    return nil, "A trial needs two models or more: `:Fillrate trial start A B`."
  end
  return trial
end

--- @param words string[]
local function trial(words)
  local client = server.client()
  if not client then
    return
  end
  local settings = server.chosen()
  if words[1] == "start" then
    local started, fault = trial_of(vim.list_slice(words, 2))
    if not started then
      refuse(assert(fault))
      return
    end
    server.ask(client, "fillrate/models", {}, function(models)
      for _, name in ipairs(started.models) do
        local known = vim.iter(models.models):any(function(item)
          return item.name == name
        end)
        if not known then
          refuse(("There is no model `%s` to try."):format(name))
          return
        end
      end
      settings.trial = started
      server.choose(settings)
      say(("The trial of %s began."):format(table.concat(started.models, ", ")))
    end)
  elseif words[1] == "stop" then
    if not too_many(words, 1) then
      -- Nothing at all would leave the trial that a settings file has.
      settings.trial = vim.NIL
      server.choose(settings)
      say("The trial is over.")
    end
  elseif words[1] then
    refuse(("`:Fillrate trial` takes `start` or `stop`, not `%s`."):format(words[1]))
  else
    server.ask(client, "fillrate/models", {}, function(models)
      say(models.trial and described(models.trial) or "No trial runs.")
    end)
  end
end

--- @param words string[]
local function toggle(words)
  local buffers = require("fillrate.buffers")
  local buf = vim.api.nvim_get_current_buf()
  if too_many(words, 1) then
    return
  end
  local on, where
  local unserved = vim.list_contains({ "buffer", "filetype" }, words[1]) and buffers.unserved(buf)
  if unserved then
    refuse(unserved)
  elseif words[1] == "buffer" then
    on, where = buffers.toggle_buffer(buf), " in this buffer"
  elseif words[1] == "filetype" then
    on, where = buffers.toggle_filetype(buf), " for " .. vim.bo[buf].filetype
  elseif words[1] then
    refuse(("`:Fillrate toggle` takes `buffer` or `filetype`, not `%s`."):format(words[1]))
  else
    on, where = buffers.toggle(), ""
  end
  if where then
    say(("Completions are %s%s."):format(on and "on" or "off", where))
  end
end

--- Minutes of a snooze without a number.
local SNOOZE = 5

--- @param words string[]
local function snooze(words)
  local minutes = tonumber(words[1] or SNOOZE)
  if too_many(words, 1) then
    return
  end
  if not minutes or minutes <= 0 or minutes > 1440 then
    refuse(("`:Fillrate snooze` takes minutes up to 1440, not `%s`."):format(words[1]))
    return
  end
  say(("Completions are off until %s."):format(require("fillrate.buffers").snooze(minutes)))
end

--- @param words string[]
--- @param bang boolean
local function purge(words, bang)
  local client = server.client()
  if too_many(words, 0) or not client then
    return
  end
  local question = "Remove everything that Fillrate noted on this machine?"
  if bang or vim.fn.confirm(question, "&Yes\n&No", 2) == 1 then
    server.ask(client, "fillrate/purge", {}, function(result)
      say(("%d records were removed."):format(result.removed))
    end)
  end
end

--- @type table<string, fillrate.Run>
local runs = {
  stats = stats,
  explain = explain,
  model = model,
  candidates = candidates,
  trial = trial,
  toggle = toggle,
  snooze = snooze,
  purge = purge,
}

--- Runs `:Fillrate`.
---
--- @param call vim.api.keyset.create_user_command.command_args
function M.run(call)
  local words = vim.list_slice(call.fargs, 2)
  local run = runs[call.fargs[1]]
  local known = table.concat(vim.fn.sort(vim.tbl_keys(runs)), ", ")
  if not require("fillrate.options").current then
    refuse('Call require("fillrate").setup() first: see :help fillrate.')
  elseif not call.fargs[1] then
    local fault = server.problem()
    local text = fault and "fault" or require("fillrate").statusline()
    local message = fault
      or require("fillrate.status").message(vim.api.nvim_get_current_buf())
      or require("fillrate.buffers").unserved(vim.api.nvim_get_current_buf())
      or server.shortened()
    -- A message names the plugin already.
    text = text:gsub("^fillrate: ", "")
    say((text ~= "" and text or "no server") .. (message and ": " .. message or ""))
  elseif not run then
    refuse(("`:Fillrate %s` is not known; there are: %s."):format(call.fargs[1], known))
  else
    run(words, call.bang)
  end
end

--- Returns the sorted completions of a word of the command line.
---
--- @param lead string the word up to the cursor
--- @param line string
--- @param cursor integer
--- @return string[]
function M.complete(lead, line, cursor)
  if not require("fillrate.options").current then
    return {}
  end
  local before = vim.split(vim.trim(line:sub(1, cursor - #lead)), "%s+")
  -- The first of them is the command itself.
  local words = vim.list_slice(before, 2)
  local known = {}
  if #words == 0 then
    known = vim.tbl_keys(runs)
  elseif words[1] == "model" and #words == 1 then
    known = server.model_names()
  elseif words[1] == "trial" and #words == 1 then
    known = { "start", "stop" }
  elseif words[1] == "trial" and words[2] == "start" then
    known = server.model_names()
    vim.list_extend(known, { "blind", "seed=" })
    for _, unit in ipairs(UNITS) do
      table.insert(known, "unit=" .. unit)
    end
    known = vim.tbl_filter(function(word)
      return not vim.list_contains(words, word)
    end, known)
  elseif words[1] == "toggle" and #words == 1 then
    known = { "buffer", "filetype" }
  elseif words[1] == "candidates" and #words == 1 then
    known = CANDIDATES
  elseif words[1] == "snooze" and #words == 1 then
    known = { "5", "30" }
  elseif words[1] == "stats" and #words == 1 then
    known = { "1", "7", "30" }
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, vim.fn.sort(known))
end

return M

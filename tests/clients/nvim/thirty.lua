-- A person who fills thirty holes in a project, at several places each, and takes what is right.
--
-- Run with `nvim -l thirty.lua SERVER SETTINGS PROJECT`. A hole is the rest of a line of code,
-- from some token on. Ghost text is right if it is a prefix of that, of eight characters or more.
-- The person looks at all candidates, and takes the longest of those that are right. What was
-- shown, taken and refused goes to standard output, as JSON.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, project = unpack(arg)
local HOLES = 30
local PLACES = 12
local LEAST = 8

--- Returns the positions to test in a line: the ends of its tokens that enough text follows.
---
--- @param line string
--- @return integer[] # bytes
local function places(line)
  local found = {}
  local at = #line:match("^%s*")
  while at < #line do
    local token = line:sub(at + 1):match("^[%w_]+%s*") or line:sub(at + 1):match("^[^%w_]%s*")
    at = at + #token
    if #line - at >= LEAST then
      table.insert(found, at)
    end
  end
  return found
end

--- @generic T
--- @param list T[]
--- @param count integer
--- @return T[] # this many of them, evenly spread
local function spread(list, count)
  local chosen = {}
  for number = 1, math.min(count, #list) do
    local index = math.floor((number - 0.5) * #list / math.min(count, #list)) + 1
    table.insert(chosen, list[index])
  end
  return chosen
end

local files = vim.fs.find(function(name)
  return name:find("%.py$") ~= nil or name:find("%.ts$") ~= nil
end, { path = project .. "/src", limit = math.huge, type = "file" })
table.sort(files)
local candidates = {}
for _, file in ipairs(files) do
  local prose = false
  for number, line in ipairs(vim.fn.readfile(file)) do
    local quotes = select(2, line:gsub('"""', ""))
    local code = not prose and quotes == 0 and not line:find("^%s*[#/*]")
    if quotes == 1 then
      prose = not prose
    end
    if code and #places(line) >= 3 and not line:find("^%s*import") and not line:find("^from") then
      table.insert(candidates, { file = file, number = number, line = line })
    end
  end
end
local holes = spread(candidates, HOLES)
equal(#holes, HOLES)

local person = Person.start()
person:set_up(server, settings)
person:lua([[
  answers = 0
  vim.api.nvim_create_autocmd("LspRequest", {
    callback = function(event)
      local request = event.data.request
      if request.method == "textDocument/inlineCompletion" and request.type == "complete" then
        answers = answers + 1
      end
    end,
  })
]])

--- Code that redraws and returns true if the candidate of this number is shown with its number.
local IS_SHOWN = [==[
  vim.cmd.redraw()
  local id = vim.api.nvim_get_namespaces()["fillrate.ghost"]
  local mark = vim.api.nvim_buf_get_extmarks(0, id, 0, -1, { details = true })[1]
  local lines = { mark[4].virt_text, unpack(mark[4].virt_lines or {}) }
  local number = lines[#lines][#lines[#lines]][1]
  return number:match("^ %((%d+)/") == tostring(...)
]==]

--- Looks at each candidate in turn.
---
--- @return string[]
local function looked_at()
  -- A person looks before they act.
  person:wait("the screen", "vim.cmd.redraw() return true")
  local texts = { person:ghost() }
  repeat
    local number = #texts + 1
    person:keys("<M-n>")
    local shown = person:wait(
      "the next candidate",
      [[
        local is_shown, number = ...
        local of = loadstring(is_shown)
        return of(number) and number or of(1) and 1
      ]],
      IS_SHOWN,
      number
    )
    if shown ~= 1 then
      table.insert(texts, (person:ghost():gsub(" %(%d+/%d+%)$", "")))
    end
  until shown == 1
  -- Back to the last, so that the next is the first.
  person:keys("<M-p>")
  person:wait("the last candidate", IS_SHOWN, #texts)
  return texts
end

local counts = { places = 0, shown = 0, taken = 0, refused = 0 }
local here
for _, hole in ipairs(holes) do
  if hole.file ~= here then
    here = hole.file
    person:open(here)
  end
  -- From the last place to the first: the other way round would be typing on from what was offered
  -- before.
  for _, at in vim.iter(spread(places(hole.line), PLACES)):rev():enumerate() do
    counts.places = counts.places + 1
    person:lua(
      [[
        local number, text = ...
        vim.api.nvim_buf_set_lines(0, number - 1, number, false, { text })
        vim.api.nvim_win_set_cursor(0, { number, 0 })
        answers = 0
      ]],
      hole.number,
      hole.line:sub(1, at)
    )
    person:keys("A")
    person:wait("an answer", "return answers > 0")
    -- Entering a line may be two questions, of which only the second has an answer.
    vim.wait(200, function()
      return person:ghost() ~= nil
    end, 5)
    if person:ghost() then
      counts.shown = counts.shown + 1
      local texts = looked_at()
      local best
      for number, text in ipairs(texts) do
        local right = #text >= LEAST and vim.startswith(hole.line:sub(at + 1), text)
        if right and (not best or #text > #texts[best]) then
          best = number
        end
      end
      if best then
        -- All were looked at, so the first comes again.
        for _ = 1, best do
          person:keys("<M-n>")
        end
        person:wait("its turn", IS_SHOWN, best)
        person:keys("<Tab>")
        person:wait(
          "the text taken",
          "return vim.api.nvim_get_current_line() == ...",
          hole.line:sub(1, at + #texts[best])
        )
        counts.taken = counts.taken + 1
      else
        counts.refused = counts.refused + 1
      end
    end
    person:keys("<Esc>")
    person:wait("normal mode", "return vim.api.nvim_get_mode().mode == 'n'")
    person:lua(
      [[
        local number, line = ...
        vim.api.nvim_buf_set_lines(0, number - 1, number, false, { line })
      ]],
      hole.number,
      hole.line
    )
  end
end
equal(person:lua("return said"), {})
person:leave()
io.stdout:write(vim.json.encode(counts))

--- Floating windows to read in.

local M = {}

--- Returns the greatest number of text columns that fit in a window, at least 1.
---
--- @return integer
function M.columns()
  -- Two columns are the border's, and two stay free.
  return math.max(1, vim.o.columns - 4)
end

--- Shows lines in a floating window, which `q` and Escape close.
---
--- @param title string
--- @param lines string[]
--- @param filetype? string what colours them
--- @return integer window
function M.open(title, lines, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  local widest = vim.fn.strdisplaywidth(title) + 4
  for _, line in ipairs(lines) do
    widest = math.max(widest, vim.fn.strdisplaywidth(line))
  end
  local width = math.min(widest, M.columns())
  -- Two lines are the border's.
  local height = math.max(1, math.min(#lines, vim.o.lines - vim.o.cmdheight - 4))
  local window = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - vim.o.cmdheight - height - 2) / 2)),
    col = math.max(0, math.floor((vim.o.columns - width - 2) / 2)),
    style = "minimal",
    border = "rounded",
    title = " " .. title .. " ",
    title_pos = "center",
  })
  -- A table of figures keeps its columns; text is wrapped between words.
  vim.wo[window].wrap = filetype == "markdown"
  vim.wo[window].linebreak = true
  if filetype then
    vim.bo[buf].filetype = filetype
  end
  if filetype == "markdown" then
    -- Without its parser, the marks stay and the text is as readable as any Markdown.
    if pcall(vim.treesitter.start, buf, "markdown") then
      vim.wo[window].conceallevel = 2
      vim.wo[window].concealcursor = "nc"
    end
  end
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, function()
      vim.api.nvim_win_close(window, true)
    end, { buffer = buf, nowait = true, desc = "Close this window" })
  end
  return window
end

--- A text between fences, under a heading.
---
--- @param into string[]
--- @param heading string
--- @param text string
local function section(into, heading, text)
  vim.list_extend(into, { "", "## " .. heading, "", "```" })
  vim.list_extend(into, vim.split(text, "\r?\n"))
  table.insert(into, "```")
end

--- Milliseconds as a person reads them.
---
--- @param ms? number
--- @return string
local function milliseconds(ms)
  return ms and ("%.1f ms"):format(ms) or "–"
end

--- Formats the origin of a completion as lines of Markdown.
---
--- @param explanation { candidates: string[], trace: table }
--- @param off? string why nothing is shown while typing
--- @return string[]
function M.explained(explanation, off)
  local trace = explanation.trace
  local lines = { "# What was offered", "" }
  if off then
    vim.list_extend(lines, { ("Completions are %s: typing shows none here."):format(off), "" })
  end
  if trace.fault then
    vim.list_extend(lines, vim.split("Nothing, because of a fault: " .. trace.fault, "\n"))
  elseif #explanation.candidates == 0 then
    vim.list_extend(lines, vim.split("Nothing: " .. (trace.nothing or "no reason is known."), "\n"))
  else
    local count = #explanation.candidates
    table.insert(lines, count == 1 and "One candidate." or ("%d candidates."):format(count))
  end
  for number, candidate in ipairs(explanation.candidates) do
    section(lines, "Candidate " .. number, candidate)
  end
  local sources = {
    model = "The model was asked.",
    cache = "The same was asked before.",
    ["typed-through"] = "Its beginning was typed: an earlier completion goes on.",
    running = "The model was already writing it.",
    uncalled = "No model was asked.",
  }
  vim.list_extend(lines, { "", "# How it came about", "" })
  -- In a blind trial nothing identifies the model.
  if (trace.model or "") ~= "" then
    local about = (trace.about or "") ~= "" and (" (%s)"):format(trace.about) or ""
    vim.list_extend(lines, vim.split("Model: " .. trace.model .. about, "\n"))
  end
  vim.list_extend(lines, {
    sources[trace.source] or "",
    "",
    "| step | time |",
    "| --- | --- |",
    "| wait for the next key | " .. milliseconds(trace.wait_ms) .. " |",
    "| other files | " .. milliseconds(trace.context_ms) .. " |",
    "| first text | " .. milliseconds(trace.first_text_ms) .. " |",
    "| model | " .. milliseconds(trace.model_ms) .. " |",
    "| clean-up | " .. milliseconds(trace.cleanup_ms) .. " |",
  })
  for number, step in ipairs(trace.steps or {}) do
    section(lines, ("What the model wrote, %d"):format(number), step.raw)
    for _, decision in ipairs(step.decisions or {}) do
      local verb = decision.rewritten and "rewrote" or "removed"
      section(lines, ("The rule `%s` %s"):format(decision.rule, verb), decision.removed)
    end
  end
  for _, window in ipairs(trace.windows or {}) do
    local heading = ("%s:%d (score %.3g)"):format(window.path, window.first_line + 1, window.score)
    section(lines, heading, window.text)
  end
  if trace.first_round then
    section(lines, "The first round's completion", trace.first_round)
  end
  if (trace.prompt or "") ~= "" then
    section(lines, "The prompt", trace.prompt)
  end
  return lines
end

return M

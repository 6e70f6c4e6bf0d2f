--- Observes shown completions and reports them to the server with their display times.
---
--- Neovim has no event for shown ghost text. But it calls a decoration provider for every window
--- that it is about to draw, with its lines. Ghost text at one of those lines is
--- drawn in the same pass, before Neovim waits for the next key. So where a screen is attached,
--- `shown` is `confirmed`. Without one Neovim draws to nowhere: then it is `estimated`.

local M = {}

--- One candidate that is offered at a place.
--- @class fillrate.Offer
--- @field client_id integer
--- @field completion? string the completion's id; servers without telemetry give none
--- @field candidate? integer its number among the completion's candidates, from 0
--- @field command? lsp.Command what accepts it
--- @field row integer line where its text begins, from 0
--- @field col integer byte of that line, from 0
--- @field text string all of it
--- @field rest string what of it is not typed yet; never empty

--- An offer with what was seen of it.
--- @class fillrate.Sight
--- @field offer fillrate.Offer
--- @field reported fillrate.Offer what it is reported as: the offer of which it is the rest, if a part of that was taken
--- @field row integer line of its ghost text, from 0
--- @field drawn_ms? number when it was first drawn
--- @field certainty? "confirmed"|"estimated"
--- @field in_parts? boolean whether a part of it was taken

--- By buffer: its offer.
--- @type table<integer, fillrate.Sight>
local sights = {}

--- @return number # milliseconds since some moment
local function now_ms()
  return vim.uv.hrtime() / 1e6
end

--- @param sight fillrate.Sight
--- @return "confirmed"|"estimated"|nil # nothing if it was never drawn
local function certainty(sight)
  if sight.drawn_ms and not sight.certainty then
    sight.certainty = #vim.api.nvim_list_uis() > 0 and "confirmed" or "estimated"
  end
  return sight.certainty
end

--- @param sight fillrate.Sight
--- @return integer? # how long it was seen; nothing if it never was
local function shown_ms(sight)
  return sight.drawn_ms and math.floor(now_ms() - sight.drawn_ms + 0.5)
end

--- @param sight fillrate.Sight
--- @param event "shown"|"partlyAccepted"|"dismissed"
--- @param more? table
local function report(sight, event, more)
  local offer = sight.reported
  local client = vim.lsp.get_client_by_id(offer.client_id)
  if not client or not offer.completion then
    return
  end
  local params = {
    completion = offer.completion,
    candidate = offer.candidate,
    event = event,
    certainty = certainty(sight),
  }
  --- @diagnostic disable-next-line: param-type-mismatch the method is the server's own
  client:notify("fillrate/event", vim.tbl_extend("error", params, more or {}))
end

--- @param one fillrate.Offer
--- @param other fillrate.Offer
local function same(one, other)
  return one.client_id == other.client_id
    and one.completion == other.completion
    and one.candidate == other.candidate
    and (one.completion ~= nil or one.text == other.text)
end

--- True if an offer is what a part of another one leaves: the server offers the rest anew.
---
--- @param sight fillrate.Sight
--- @param offer fillrate.Offer
local function is_rest(sight, offer)
  local old = sight.offer
  return sight.in_parts and old.client_id == offer.client_id and old.rest == offer.rest
end

--- Sets the offer displayed in the buffer, replacing any other.
---
--- @param buf integer
--- @param offer fillrate.Offer
--- @param row integer line of its ghost text, from 0
function M.begin(buf, offer, row)
  local sight = sights[buf]
  if sight and (same(sight.offer, offer) or is_rest(sight, offer)) then
    sight.offer, sight.row = offer, row
    return
  end
  M.finish(buf)
  sights[buf] = { offer = offer, reported = offer, row = row }
end

--- Removes the buffer's displayed offer.
---
--- @param buf integer
--- @param event? "dismissed" what ended it; without it, it was typed over or replaced
function M.finish(buf, event)
  local sight = sights[buf]
  sights[buf] = nil
  -- What was not seen was not dismissed either.
  if sight and sight.drawn_ms then
    report(sight, event or "shown", { shownMs = shown_ms(sight) })
  end
end

--- Reports that a part of the offer was accepted. The rest may stay displayed.
---
--- @param buf integer
--- @param characters integer how many characters
--- @param unit "word"|"line"|"characters"
function M.took_part(buf, characters, unit)
  local sight = sights[buf]
  if sight then
    sight.in_parts = true
    local ms = shown_ms(sight)
    report(sight, "partlyAccepted", { characters = characters, unit = unit, shownMs = ms })
  end
end

--- Returns true if a part of the displayed offer was accepted before.
---
--- @param buf integer
--- @return boolean
function M.is_in_parts(buf)
  return sights[buf] ~= nil and sights[buf].in_parts == true
end

--- Records that an offer was accepted whole.
---
--- @param argument table the argument of its command
--- @return table # the same, with what was seen of it
function M.took(argument)
  for buf, sight in pairs(sights) do
    local offer = sight.offer
    if offer.completion == argument.completion and offer.candidate == argument.candidate then
      sights[buf] = nil
      if sight.drawn_ms then
        return vim.tbl_extend("keep", argument, {
          shownMs = shown_ms(sight),
          certainty = certainty(sight),
        })
      end
    end
  end
  return argument
end

--- Starts to watch what is drawn. Idempotent.
function M.watch()
  local namespace = vim.api.nvim_create_namespace("fillrate.seen")
  vim.api.nvim_set_decoration_provider(namespace, {
    -- This runs at every draw of every window, and may change nothing.
    on_win = function(_, _, buf, first, last)
      local sight = sights[buf]
      if sight and not sight.drawn_ms and sight.row >= first and sight.row <= last then
        sight.drawn_ms = now_ms()
        vim.schedule(function()
          -- It may have ended already, and then that was reported.
          if sights[buf] == sight then
            report(sight, "shown")
          end
        end)
      end
      return false
    end,
  })
end

return M

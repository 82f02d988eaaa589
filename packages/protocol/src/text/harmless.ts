/*
 * Errors, progress, results and names are text of others. Where a person reads them, on a terminal or in a log, none of it may
 * be obeyed: not escape sequences, nor what ends a line, nor what has the text around it read the other way round.
 */

/** What moves a cursor, changes colours or ends a line, in C0, C1 and Unicode. */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029'
/** What changes the direction of reading: it cannot be seen, and has one name shown as another. */
const DIRECTIONS = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'

const controls = new RegExp(`[${CONTROLS}]+`, 'g')
const directions = new RegExp(`[${DIRECTIONS}]`, 'g')
/** One half of a pair of surrogates, alone: it does not survive UTF-8. */
const halves = /\p{Surrogate}/gu
const both = new RegExp(`[${CONTROLS}${DIRECTIONS}]`, 'g')

/** As a part of one line, for people: controls are blanks, and what cannot be seen is shown. */
export function oneLine(text: string): string {
  return text.toWellFormed().replace(controls, ' ').replace(directions, escaped)
}

/** A line of JSON that means exactly the same. */
export function escapedLine(json: string): string {
  return json.replace(both, escaped).replace(halves, escaped)
}

/** JSON that means exactly the same: on one line, or indented for people. */
export function harmlessJson(value: unknown, indent = 0): string {
  return withEscapes(JSON.stringify(value, null, indent))
}

/** JSON or TOML in which all of this is written as `\u…`, and the lines are as they were. */
export function withEscapes(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(both, escaped))
    .join('\n')
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

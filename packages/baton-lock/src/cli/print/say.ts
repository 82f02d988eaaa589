import type { Writable } from 'node:stream'
import { harmlessJson, oneLine } from '@baton-lock/protocol'

/** A line for people, or several; whatever others wrote in it does nothing to a terminal. */
export function say(output: Writable, ...lines: readonly string[]): void {
  output.write(lines.map((line) => `${oneLine(line)}\n`).join(''))
}

/** Text of our own that may have several lines, as an error does or a help text. */
export function sayText(output: Writable, text: string): void {
  output.write(text.split('\n').map(oneLine).join('\n'))
}

/** For programs, exact in meaning. */
export function sayJson(output: Writable, value: unknown, indent?: number): void {
  output.write(`${harmlessJson(value, indent)}\n`)
}

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, number>> = {
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
  dim: 2,
  bold: 1,
}

const CLEAR_LINE = '\r\u001b[2K'

/** Makes room on a line that something was written to. */
export function clearLine(output: Writable): void {
  output.write(CLEAR_LINE)
}

export type Paint = (colour: Colour, text: string) => string

export const plain: Paint = (_colour, text) => text

const ansi: Paint = (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m`

/** Colours on a terminal, unless the user wants none (no-color.org). */
export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  return stream.isTTY && !env.NO_COLOR && env.TERM !== 'dumb' ? ansi : plain
}

import type { Writable } from 'node:stream'
import { harmlessJson, oneLine } from '../../protocol/index.ts'

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

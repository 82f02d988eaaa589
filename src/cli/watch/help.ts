import { type Line, line } from './line.ts'
import type { Ui } from './ui.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['↑ ↓ PgUp PgDn Home End', 'move; also j k, space, g G'],
  ['Enter', 'opens one: its line, why they wait, its last grants'],
  ['/', 'only what has a text in its name, nodes, operations'],
  ['a', 'also those that nobody holds or waits for, or not'],
  ['Escape', 'goes back'],
  ['q Ctrl-C', 'quits'],
]

const SIGNS: readonly (readonly [string, string])[] = [
  ['!', 'look at it: its holder is silent, takes much longer'],
  ['', 'than usual, or one attempt after another fails'],
  ['*', 'has just changed'],
  ['HELD (USUAL)', 'for how long, and how long that usually takes'],
  ['LEASE', 'how long it has left unless the holder renews it'],
  ['(node)', 'is next, and has not claimed its grant yet'],
  ['LINE WAITS', 'how many wait, and for how long the first of them'],
]

export function helpLines({ isAlone }: Ui): Line[] {
  const keys = isAlone ? KEYS.filter(([key]) => !['Enter', '/', 'a'].includes(key)) : KEYS
  const row = ([what, means]: readonly [string, string]): Line => [
    { text: `  ${what.padEnd(24)}`, colour: 'cyan' },
    { text: means },
  ]
  return [
    [],
    line('Keys', 'bold'),
    ...keys.map(row),
    [],
    line('Signs', 'bold'),
    ...SIGNS.map(row),
    [],
    line(ORDER, 'dim'),
  ]
}

const ORDER = 'First what somebody should look at, then who waits longest, then what is held.'

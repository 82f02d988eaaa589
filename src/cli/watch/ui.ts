import type { Key } from './keys.ts'

/** What somebody has chosen to see. */
export interface Ui {
  readonly screen: 'list' | 'resource' | 'help'
  /** The name of the one that Enter opens; nothing: the first, whichever that is. */
  readonly selected?: string | undefined
  /** Where that was last, for when it is there no longer. */
  readonly at: number
  /** How many resources of the list are above the screen. */
  readonly top: number
  /** The name of the one that is open. */
  readonly opened?: string | undefined
  /** How many lines of it are above the screen. */
  readonly scroll: number
  readonly filter: string
  readonly isTyping: boolean
  /** Also those that nobody holds or waits for. */
  readonly showsQuiet: boolean
  /** Where there is nothing but one resource: leaving it is leaving. */
  readonly isAlone: boolean
}

export const beginning: Ui = {
  screen: 'list',
  at: 0,
  top: 0,
  scroll: 0,
  filter: '',
  isTyping: false,
  showsQuiet: false,
  isAlone: false,
}

/** What is to be done beside showing something else. */
export type Act = 'quit' | 'interrupt' | 'suspend' | 'redraw'

/** What is shown at the moment. */
export interface Shown {
  /** Of the list, in its order. */
  readonly names: readonly string[]
  /** How many of them, or of its lines, fit on the screen. */
  readonly page: number
}

export function press(ui: Ui, key: Key, shown: Shown): Ui | Act {
  if (key.key === 'interrupt' || key.key === 'suspend' || key.key === 'redraw') return key.key
  if (key.key !== 'text') return ui.isTyping ? edited(ui, key.key) : moved(ui, key.key, shown)
  let present: Ui | Act = ui
  // What was typed fast comes in one piece.
  for (const character of key.text) if (typeof present === 'object') present = typed(present, character, shown)
  return present
}

function typed(ui: Ui, character: string, shown: Shown): Ui | Act {
  return ui.isTyping ? { ...ui, ...atTheTop, filter: ui.filter + character } : pressed(ui, character, shown)
}

function edited(ui: Ui, key: Key['key']): Ui {
  const from = (filter: string) => ({ ...ui, ...atTheTop, filter })
  switch (key) {
    case 'backspace':
      return from([...ui.filter].slice(0, -1).join(''))
    case 'clear':
      return from('')
    case 'escape':
      return { ...from(''), isTyping: false }
    case 'enter':
      return { ...ui, isTyping: false }
    default:
      return ui
  }
}

function pressed(ui: Ui, character: string, shown: Shown): Ui | Act {
  switch (character) {
    case 'q':
      return 'quit'
    case '?':
      return ui.screen === 'help' ? left(ui) : { ...ui, screen: 'help' }
    case 'j':
      return moved(ui, 'down', shown)
    case 'k':
      return moved(ui, 'up', shown)
    case ' ':
      return moved(ui, 'page-down', shown)
    case 'g':
      return moved(ui, 'home', shown)
    case 'G':
      return moved(ui, 'end', shown)
  }
  if (ui.screen !== 'list') return ui
  if (character === '/') return { ...ui, isTyping: true }
  if (character === 'a') return { ...ui, ...atTheTop, showsQuiet: !ui.showsQuiet }
  return ui
}

function moved(ui: Ui, key: Exclude<Key['key'], 'text'>, shown: Shown): Ui | Act {
  if (key === 'escape') return ui.screen === 'resource' && ui.isAlone ? 'quit' : left(ui)
  if (ui.screen === 'help') return key === 'enter' ? left(ui) : ui
  const by = steps(key, shown.page)
  if (ui.screen === 'resource') return by === undefined ? ui : { ...ui, scroll: Math.max(0, ui.scroll + by) }
  const { names } = shown
  const at = selectedIn(ui, names)
  if (key === 'enter') {
    const opened = names[at]
    return opened === undefined ? ui : { ...ui, screen: 'resource', opened, selected: opened, scroll: 0 }
  }
  if (by === undefined) return ui
  const next = Math.min(names.length - 1, Math.max(0, at + by))
  // At the top it stays at the top, whatever comes to stand there.
  return next <= 0 ? { ...ui, ...atTheTop } : { ...ui, selected: names[next], at: next }
}

const atTheTop = { selected: undefined, at: 0, top: 0 }

/** The place of the one that is selected; where it has gone, that of the one in its place. */
export function selectedIn({ selected, at }: Ui, names: readonly string[]): number {
  if (selected === undefined) return 0
  const found = names.indexOf(selected)
  return found >= 0 ? found : Math.max(0, Math.min(at, names.length - 1))
}

/** Farther than any list is long. */
const FAR = 1e9

function steps(key: Key['key'], page: number): number | undefined {
  const distances: Readonly<Record<string, number>> = {
    up: -1,
    down: 1,
    'page-up': -page,
    'page-down': page,
    home: -FAR,
    end: FAR,
  }
  return distances[key]
}

/** One step back. */
function left(ui: Ui): Ui {
  if (ui.screen === 'help') return { ...ui, screen: ui.opened === undefined ? 'list' : 'resource' }
  if (ui.screen === 'resource') return { ...ui, screen: 'list', opened: undefined }
  return { ...ui, ...atTheTop, filter: '' }
}

import { describe, expect, test } from 'vitest'
import { type Key, keysIn } from './keys.ts'
import { type Act, beginning, press, type Ui } from './ui.ts'

describe('keys', () => {
  test('are told from one another as terminals send them', () => {
    const named = (input: string) => keysIn(input).map((each) => (each.key === 'text' ? `'${each.text}'` : each.key))
    expect(named('\u001b[A\u001b[B\u001bOA\u001b[5~\u001b[6~\u001b[H\u001b[4~')).toEqual([
      'up',
      'down',
      'up',
      'page-up',
      'page-down',
      'home',
      'end',
    ])
    expect(named('ab\rc\u007f\u0003\u001a')).toEqual(["'ab'", 'enter', "'c'", 'backspace', 'interrupt', 'suspend'])
    expect(named('\u001b')).toEqual(['escape'])
    // Of others nothing is left over that could be taken for text.
    expect(named('\u001b[1;5C\u001b[200~x\u0001')).toEqual(["'x'"])
    expect(named('節ä')).toEqual(["'節ä'"])
  })
})

describe('what is pressed', () => {
  const names = Array.from({ length: 100 }, (_, index) => `r${index}`)
  const shown = { names, page: 10 }
  const key = (text: string): Key[] => keysIn(text)
  const pressing = (input: string, from: Ui = beginning): Ui | Act => {
    let ui: Ui | Act = from
    for (const each of key(input)) if (typeof ui === 'object') ui = press(ui, each, shown)
    return ui
  }
  const [UP, DOWN, PGUP, PGDN, HOME, END, ESC] = [
    '\u001b[A',
    '\u001b[B',
    '\u001b[5~',
    '\u001b[6~',
    '\u001b[H',
    '\u001b[F',
    '\u001b',
  ]

  test('moves, and not beyond the ends', () => {
    expect(pressing(DOWN)).toMatchObject({ selected: 'r1' })
    expect(pressing(`${DOWN}${DOWN}${UP}jj`)).toMatchObject({ selected: 'r3' })
    expect(pressing(`${PGDN} `)).toMatchObject({ selected: 'r20' })
    expect(pressing(`${END}${DOWN}`)).toMatchObject({ selected: 'r99' })
    expect(pressing(`${END}${PGUP}`)).toMatchObject({ selected: 'r89' })
    // At the top nothing is held on to: there is whatever comes first.
    expect(pressing(`${END}${HOME}`)).toMatchObject({ selected: undefined, top: 0 })
  })

  test('opens one and goes back to the same place', () => {
    const opened = pressing(`${DOWN}${DOWN}\r`)
    expect(opened).toMatchObject({ screen: 'resource', opened: 'r2' })
    expect(pressing(`${DOWN}${DOWN}`, opened as Ui)).toMatchObject({ scroll: 2, opened: 'r2' })
    expect(pressing(ESC, opened as Ui)).toMatchObject({ screen: 'list', selected: 'r2', opened: undefined })
    expect(pressing('?', opened as Ui)).toMatchObject({ screen: 'help' })
    expect(pressing(`?${'?'}`, opened as Ui)).toMatchObject({ screen: 'resource', opened: 'r2' })
    expect(press(beginning, { key: 'enter' }, { names: [], page: 1 })).toEqual(beginning)
  })

  test('filters as it is typed; what means something elsewhere is text there', () => {
    expect(pressing('/q?a')).toMatchObject({ isTyping: true, filter: 'q?a' })
    expect(pressing('/ab節\u007f')).toMatchObject({ filter: 'ab' })
    expect(pressing('/abc\u0015x')).toMatchObject({ filter: 'x' })
    const kept = pressing('/abc\r') as Ui
    expect(kept).toMatchObject({ isTyping: false, filter: 'abc' })
    expect(pressing(ESC, kept)).toMatchObject({ filter: '' })
    expect(pressing(ESC, pressing('/abc') as Ui)).toMatchObject({ isTyping: false, filter: '' })
  })

  test('quits, and asks for more than another picture', () => {
    expect(pressing('q')).toBe('quit')
    expect(pressing('\u0003')).toBe('interrupt')
    expect(pressing('/\u0003')).toBe('interrupt')
    expect(pressing('\u001a')).toBe('suspend')
    expect(pressing('\u000c')).toBe('redraw')
    expect(pressing('a')).toMatchObject({ showsQuiet: true })
    expect(pressing('aa')).toMatchObject({ showsQuiet: false })
  })

  test('where there is one resource only, leaving it is leaving', () => {
    const alone: Ui = { ...beginning, screen: 'resource', opened: 'r1', isAlone: true }
    expect(pressing(ESC, alone)).toBe('quit')
    expect(pressing('/a', alone)).toEqual(alone)
    expect(pressing(`?${ESC}`, alone)).toMatchObject({ screen: 'resource' })
  })
})

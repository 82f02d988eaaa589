/** What somebody has pressed. */
export type Key =
  | { readonly key: 'text'; readonly text: string }
  | {
      readonly key:
        | 'up'
        | 'down'
        | 'page-up'
        | 'page-down'
        | 'home'
        | 'end'
        | 'enter'
        | 'escape'
        | 'backspace'
        | 'clear'
        | 'interrupt'
        | 'suspend'
        | 'redraw'
    }

type Named = Exclude<Key['key'], 'text'>

const CONTROLS: Readonly<Record<string, Named>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u000c': 'redraw',
  '\u0015': 'clear',
  '\u001a': 'suspend',
}

const SEQUENCES: Readonly<Record<string, Named>> = {
  A: 'up',
  B: 'down',
  H: 'home',
  F: 'end',
  '1~': 'home',
  '7~': 'home',
  '4~': 'end',
  '8~': 'end',
  '5~': 'page-up',
  '6~': 'page-down',
}

const ESCAPE = '\u001b'
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what terminals send.
const SEQUENCE = /^\u001b(?:\[([0-9;?]*[@-~])|O([@-~]))/

/** Whether more may belong to what has come so far: then it is worth a moment's wait. */
export function isHalf(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what terminals send.
  return /\u001b(?:\[[0-9;?]*|O)?$/.test(text)
}

/** What a terminal has sent, key by key. Sequences that mean nothing here are passed over. */
export function keysIn(input: string): Key[] {
  const keys: Key[] = []
  let text = ''
  const add = (key: Named) => {
    if (text !== '') keys.push({ key: 'text', text })
    text = ''
    keys.push({ key })
  }
  for (let left = input; left !== ''; ) {
    const [sequence, bracket, letter] = SEQUENCE.exec(left) ?? []
    const [character = ''] = left
    if (sequence !== undefined) {
      const key = SEQUENCES[bracket ?? letter ?? '']
      if (key) add(key)
    } else if (character === ESCAPE) add('escape')
    else if (CONTROLS[character]) add(CONTROLS[character])
    else if (character >= ' ') text += character
    left = left.slice((sequence ?? character).length)
  }
  if (text !== '') keys.push({ key: 'text', text })
  return keys
}

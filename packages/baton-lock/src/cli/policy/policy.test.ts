import { completePolicy, type SaidPolicy, saidIn } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { UsageError } from '../exit.ts'
import { merged, policyDiff } from './diff.ts'
import { saidByRows } from './said.ts'

const policyOf = (namespaces: SaidPolicy['namespaces']) => completePolicy({ namespaces })

test('rows say columns of operations and switches of the namespace', () => {
  const rows = ['compile.waitersOnSuccess=skip', 'compile.keepMs=1h30m', 'compile.attempts=3', 'exclusion=resource']
  expect(saidByRows([...rows, 'a.b.contradicts=pull,update', 'compile.queueing=false'], 'build')).toEqual({
    namespaces: {
      build: {
        exclusion: 'resource',
        operations: {
          compile: { waitersOnSuccess: 'skip', keepMs: 5_400_000, attempts: 3, queueing: false },
          'a.b': { contradicts: ['pull', 'update'] },
        },
      },
    },
  })
  expect(saidByRows(['delete.contradicts='], 'n').namespaces.n?.operations?.delete).toEqual({ contradicts: [] })
})

test.each([
  ['compile', /not of the form \[OPERATION\.\]COLUMN=VALUE/],
  ['=3', /not of the form/],
  ['.attempts=3', /not of the form/],
  ['compile.=3', /not of the form/],
  [
    'compile.atempts=3',
    /'atempts' is not a column of the operation 'compile'; there are whenReferenced, .*, queueing$/,
  ],
  ['attempts=3', /a namespace \(of a row: OPERATION\.attempts=…\); there are exclusion, .*, queueLimit$/],
  ['compile.exclusion=resource', /'exclusion' is not a column of the operation/],
  ['toString=3', /'toString' is not a column/],
  ['compile.attempts=three', /'three' is no value of attempts; use a whole number/],
  ['compile.attempts=-1', /use a whole number/],
  ['compile.keepMs=soon', /use a duration like 500ms.*, or a number of milliseconds/],
  ['compile.waitersOnSuccess=wait', /use skip, next/],
  ['queueing=yes', /use true, false/],
  ['operations.pull.keepMs=2000', /has 'operations\.' in front.*; write it like pull\.keepMs=2000$/],
])('%s is refused with what is known', (row, sentence) => {
  expect(() => saidByRows([row], 'default')).toThrow(UsageError)
  expect(() => saidByRows([row], 'default')).toThrow(sentence)
})

test('what is not named stays: namespaces, switches, rows and columns', () => {
  const before = policyOf({
    default: { exclusion: 'resource', operations: { compile: { attempts: 3, keepMs: 1_000 }, bake: {} } },
    other: { queueing: false },
  })
  const after = merged(saidIn(before), { namespaces: { default: { operations: { compile: { attempts: 4 } } } } })
  expect(policyDiff(before, completePolicy(after))).toEqual(['changed  compile.attempts: 3 → 4'])
  expect(after.namespaces.other).toEqual({ queueing: false })
})

test('a column that is said to be as built in goes back to that', () => {
  const before = policyOf({ default: { operations: { pull: { keepMs: 5 } } } })
  const after = completePolicy(
    merged(saidIn(before), { namespaces: { default: { operations: { pull: { keepMs: 3_600_000 } } } } }),
  )
  expect(policyDiff(before, after)).toEqual(['changed  pull.keepMs: 5ms → 1h'])
  expect(saidIn(after)).toEqual({ namespaces: { default: {} } })
})

test('a diff names what is added, changed and removed', () => {
  const before = policyOf({ default: { claimMs: 7_000, operations: { bake: {}, pull: { queueing: false } } }, old: {} })
  const after = policyOf({
    default: { exclusion: 'resource', operations: { compile: { keepMs: 90_000, contradicts: ['pull'] }, plain: {} } },
    build: { operations: { pull: { attempts: 2 } } },
  })
  expect(policyDiff(before, after)).toEqual([
    'changed  exclusion: operation → resource',
    'changed  claimMs: 7s → 5s',
    'changed  pull.queueing: false → unset',
    'removed  bake',
    'added    compile: keepMs=90s contradicts=pull',
    'added    plain: a plain mutex',
    'removed  namespace old: it has the policy of default',
    'added    namespace build: what it does not say is as built in, not as in default',
    'changed  [build] pull.attempts: 0 → 2',
  ])
  expect(policyDiff(after, after)).toEqual([])
})

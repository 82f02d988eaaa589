import {
  ArgumentError,
  BatonError,
  FailedForGoodError,
  GrantLostError,
  HoldLimitError,
  RefusedError,
  UnavailableError,
} from '@baton-lock/client'
import { oneLine } from '@baton-lock/protocol'
import { CommanderError } from 'commander'
import { EXIT, isOutOfFiles, OUT_OF_FILES } from './exit-codes.ts'

export { EXIT }

/** The caller has to change the command line or a file; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Ends the program with a code of its own and a sentence, where one is due. */
export class Exit extends Error {
  override readonly name = 'Exit'
  readonly code: number
  constructor(code: number, sentence = '') {
    super(sentence)
    this.code = code
  }
}

const codesOfRefusals: Readonly<Record<string, number>> = {
  'in-use': EXIT.inUse,
  busy: EXIT.busy,
  'held-by-you': EXIT.busy,
  'passed-over': EXIT.busy,
  'queue-full': EXIT.busy,
  'quota-exceeded': EXIT.busy,
  'wait-over': EXIT.busy,
  'too-many-streams': EXIT.busy,
  unauthorised: EXIT.unauthorised,
  forbidden: EXIT.unauthorised,
  'bad-request': EXIT.usage,
  'too-large': EXIT.usage,
  'unknown-operation': EXIT.usage,
  'unknown-host': EXIT.unreachable,
  draining: EXIT.unreachable,
  'store-unavailable': EXIT.unreachable,
  'unknown-outcome': EXIT.unreachable,
}

/** The exit code for an error, and the sentence to print. The sentence is empty if the message was printed already. */
export function exitOf(error: unknown): { readonly code: number; readonly sentence: string } {
  if (error instanceof Exit) return { code: error.code, sentence: error.message }
  // Commander has printed its own sentence already.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.ok : EXIT.usage, sentence: '' }
  if (isOutOfFiles(error)) return { code: EXIT.unreachable, sentence: OUT_OF_FILES }
  // It may be, or quote, what somebody else wrote.
  const sentence = oneLine(error instanceof Error ? error.message : String(error))
  const advice = error instanceof BatonError && !saysWhatToDo(error) ? adviceOn[error.code] : undefined
  return {
    code: codeOf(error),
    sentence: advice === undefined ? sentence : `${sentence.replace(/\.$/, '')}; ${advice}`,
  }
}

/** A store says itself what to do, and so does what is said of a certificate. */
function saysWhatToDo({ cause, message }: BatonError): boolean {
  return message.includes('certificate') || (cause instanceof Error && cause.name === 'StoreUnavailable')
}

/** What to do at a command line, where the sentence of the code does not say it. */
const adviceOn: Readonly<Record<string, string>> = {
  unavailable: 'see that it runs (`baton serve`), or name another with --server or --store',
  forbidden: 'put one into BATON_TOKEN whose role, nodes and namespace do',
  'failed-for-good': 'mend the cause, then run it again',
  'grant-lost': 'somebody else may be at it now, `baton status` shows who',
}

function codeOf(error: unknown): number {
  // What the SDK was given came from the command line.
  if (error instanceof UsageError || error instanceof ArgumentError) return EXIT.usage
  if (error instanceof FailedForGoodError) return EXIT.failedForGood
  if (error instanceof UnavailableError) return EXIT.unreachable
  if (error instanceof GrantLostError) return EXIT.grantLost
  if (error instanceof HoldLimitError) return EXIT.heldTooLong
  if (error instanceof RefusedError || error instanceof BatonError) return codesOfRefusals[error.code] ?? EXIT.failed
  return EXIT.failed
}

/** The exit codes of Baton: an interface, after sysexits.h. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 64,
  failedForGood: 65,
  unreachable: 69,
  grantLost: 70,
  inUse: 73,
  busy: 75,
  unauthorised: 77,
  heldTooLong: 124,
  notFound: 127,
} as const

export const OUT_OF_FILES =
  'this process may not open as many files as it needs; allow it more, e.g. `ulimit -n 1024`, or LimitNOFILE= of systemd'

export function isOutOfFiles(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

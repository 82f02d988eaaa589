import { ConnectionError, ERROR, FRAME_MAX_BYTES, WINDOW_MAX } from './frame.ts'

/** RFC 9113, section 6.5.2. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

const SETTING_BYTES = 6
const FRAME_SIZE_MAX = 2 ** 24 - 1

/** Those that change what a server does; the others are only checked. */
interface ClientSettings {
  headerTableSize?: number
  initialWindowSize?: number
}

/** @throws ConnectionError where one has a value that it cannot have */
export function clientSettings(payload: Buffer): ClientSettings {
  if (payload.length % SETTING_BYTES !== 0) throw new ConnectionError(ERROR.frameSize, 'settings that are cut off')
  const settings: ClientSettings = {}
  for (let at = 0; at < payload.length; at += SETTING_BYTES) {
    const value = payload.readUInt32BE(at + 2)
    switch (payload.readUInt16BE(at)) {
      case SETTING.headerTableSize:
        // The last one counts, but a smaller one before it has emptied the table too.
        settings.headerTableSize = Math.min(value, settings.headerTableSize ?? value)
        break
      case SETTING.enablePush:
        check(value <= 1, ERROR.protocol)
        break
      case SETTING.initialWindowSize:
        check(value <= WINDOW_MAX, ERROR.flowControl)
        settings.initialWindowSize = value
        break
      case SETTING.maxFrameSize:
        check(value >= FRAME_MAX_BYTES && value <= FRAME_SIZE_MAX, ERROR.protocol)
        break
    }
  }
  return settings
}

function check(isAllowed: boolean, code: number): void {
  if (!isAllowed) throw new ConnectionError(code, 'a setting that cannot be')
}

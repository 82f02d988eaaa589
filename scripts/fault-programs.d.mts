import type { Bundle } from './bundle.mjs'

export function faultPrograms(
  outDir: string,
  options?: {
    readonly only?: readonly string[]
    readonly root?: string
    readonly plugins?: Bundle['plugins']
  },
): Bundle

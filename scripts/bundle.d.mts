import type { RolldownPluginOption } from 'rolldown'

export interface Bundle {
  readonly entries: Readonly<Record<string, string>>
  readonly outDir: string
  readonly external: readonly string[]
  readonly cjs?: boolean
  readonly chunks?: string
  readonly plugins?: readonly RolldownPluginOption[]
  readonly sourcemap?: boolean
}

export function bundle(options: Bundle): Promise<readonly string[]>

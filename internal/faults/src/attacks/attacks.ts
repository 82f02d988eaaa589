import type { Attack } from './attack.ts'
import { growthAttacks } from './growth-attacks.ts'
import { httpAttacks } from './http-attacks.ts'
import { readAttacks } from './read-attacks.ts'
import { streamAttacks } from './stream-attacks.ts'
import { trustAttacks } from './trust-attacks.ts'

export const attacks: readonly Attack[] = [
  ...httpAttacks,
  ...readAttacks,
  ...streamAttacks,
  ...growthAttacks,
  ...trustAttacks,
]

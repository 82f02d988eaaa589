/** So many holds of one owner keep a grant, and so many nodes use a resource. */
export const CORE_LIMITS = { holds: 1_000, references: 10_000 } as const

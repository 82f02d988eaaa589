import type { Bug } from './bug.ts'
import { accessBugs } from './list/access.ts'
import { answerBugs } from './list/answers.ts'
import { connectionBugs } from './list/connections.ts'
import { grantBugs } from './list/grants.ts'
import { storeBugs } from './list/stores.ts'

/** All planted bugs, by area. */
export const bugs: readonly Bug[] = [...grantBugs, ...answerBugs, ...accessBugs, ...storeBugs, ...connectionBugs]

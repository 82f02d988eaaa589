import { test } from 'vitest'
import { storeConformance } from '../../testing/index.ts'
import { openMemoryStore } from './index.ts'

storeConformance({ name: 'memory', open: openMemoryStore, test })

import { test } from 'vitest'
import { storeConformance } from '../conformance/index.ts'
import { openMemoryStore } from './index.ts'

storeConformance({ name: 'memory', open: ({ data, ...options }) => openMemoryStore({ ...options, id: data }), test })

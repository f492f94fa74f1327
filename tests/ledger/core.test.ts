import { test } from 'vitest';
import * as core from '../../server/billing/ledger/core.ts';
import { examineCore } from './core-cases.ts';

test('every command is decided as written down', () => examineCore(core));

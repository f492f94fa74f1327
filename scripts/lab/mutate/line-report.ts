/** Writes one line for each test file that is over: what it found stands even when a later one hangs. */
import { appendFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { TestModule } from 'vitest/node';

const root = resolve(import.meta.dirname, '..', '..', '..');

export interface FileOver {
  readonly test: string;
  readonly ok: boolean;
  /** The first test that failed. */
  readonly failed: string | null;
  readonly seconds: number;
}

export default class LineReporter {
  onTestModuleEnd(module: TestModule): void {
    const failed = [...module.children.allTests('failed')][0]?.fullName ?? null;
    const ok = module.ok();
    const { duration, collectDuration } = module.diagnostic();
    const over: FileOver = {
      test: relative(root, module.moduleId),
      ok,
      failed: ok ? null : (failed ?? 'does not load'),
      seconds: (duration + collectDuration) / 1000,
    };
    appendFileSync(process.env.GATEWAY_ROUND_RESULT ?? 'round.jsonl', `${JSON.stringify(over)}\n`);
  }
}

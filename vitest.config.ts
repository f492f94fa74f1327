import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files of a page (`// @vitest-environment happy-dom`) before all others. A worker whose next file wants another
 * environment ends, and the one after it loads the whole server anew and runs it cold: mixed, half a run began 25 of them.
 */
class PagesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isPage = ({ moduleId }: TestSpecification) =>
      readFileSync(moduleId, 'utf8').startsWith('// @vitest-environment');
    const sorted = await super.sort(files);
    return [...sorted.filter(isPage), ...sorted.filter((file) => !isPage(file))];
  }
}

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    sequence: { sequencer: PagesFirst },
    // Only what hangs takes so long: a busy machine changes nothing.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    maxWorkers: 3,
    // Files of one worker share their modules: loading them anew for each took a third of the time.
    isolate: false,
    // Bun loads TypeScript itself. Through Vite each module was transformed and each use of an import became a look-up: a third of the processor time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});

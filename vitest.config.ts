import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
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

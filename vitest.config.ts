import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    maxWorkers: 3,
    // Files of one worker share their modules: loading them anew for each took a third of the time.
    isolate: false,
  },
});

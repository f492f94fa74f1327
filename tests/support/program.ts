/** The gateway as a program of its own: the executable that `test-binary` names, which starts in a third of the time, otherwise the sources. */
import { resolve } from 'node:path';

const executable = process.env.GATEWAY_TEST_PROGRAM ?? '';

/** Command line, before its arguments. */
export const gatewayProgram: readonly string[] =
  executable === '' ? [process.execPath, resolve(import.meta.dirname, '../../cli/main.ts')] : [executable];

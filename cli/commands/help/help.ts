/** Completions, topics, and the manifest for programs. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { homeOf } from '../../../server/app/data-dir.ts';
import { AppError, errors } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import { legalText } from '../../../server/embedded/legal-text.ts';
import { commit, version as release } from '../../../server/embedded/version.ts';
import type { CommandRow, CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { globals } from '../../globals.ts';
import { completionScripts } from './scripts.ts';
import { environment, exitCodes, topics } from './topics.ts';

/** Where each shell looks for the user's own completions. */
const folders: Readonly<Record<string, (env: Context['env'], home: string) => string>> = {
  bash: (env, home) => join(env.XDG_DATA_HOME || join(home, '.local/share'), 'bash-completion/completions/gateway'),
  zsh: (_env, home) => join(home, '.zfunc/_gateway'),
  fish: (env, home) => join(env.XDG_CONFIG_HOME || join(home, '.config'), 'fish/completions/gateway.fish'),
};

const hints: Readonly<Record<string, string>> = { zsh: 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' };

export const completion: CommandRun = async (context, flags, shell) => {
  const script = completionScripts[shell];
  if (script === undefined)
    throw new AppError('usage', { detail: `${shell}: ${Object.keys(completionScripts).join(', ')}` });
  if (flags.install !== true) return context.output.object({ shell, script }, [script.trimEnd()], shell);
  const place = folders[shell];
  if (place === undefined) throw new AppError('usage', { detail: `--install ${shell}: bash, zsh, fish` });
  const file = place(context.env, homeOf(context.env));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, script);
  context.output.object({ result: 'updated', file }, [file], file);
  const hint = hints[shell];
  if (hint !== undefined) context.output.note(`~/.zshrc: ${hint}`);
};

export const help: CommandRun = async (context, _flags, input) => {
  const topic = topics.find((one) => one.name === input);
  if (topic !== undefined) {
    const about = textIn(topic, context.language).trimEnd();
    return context.output.object({ topic: topic.name, text: about }, [about], topic.name);
  }
  if (input !== '') throw new AppError('usage', { detail: `${input}: ${topics.map((one) => one.name).join(', ')}` });
  context.output.list(
    topics.map((one) => ({ topic: one.name, about: textIn(one, context.language).split('\n')[0] ?? '' })),
    [
      { name: 'topic', value: (row) => row.topic },
      { name: 'about', value: (row) => row.about },
    ],
    (row) => row.topic,
  );
};

export const capabilities =
  (commands: readonly CommandRow[]): CommandRun =>
  async (context) => {
    const { language } = context;
    const manifest = {
      version: release,
      commands: commands
        .filter((row) => row.hidden !== true)
        .map(({ name, argument, flags, examples, ...row }) => ({
          name,
          argument: argument ?? '',
          summary: textIn(row, language),
          flags: (flags ?? []).map((flag) => ({ flag: flag.flag, summary: textIn(flag, language) })),
          examples: examples.map((example) => `gateway ${example}`),
        })),
      global_flags: globals.map((flag) => ({ flag: flag.flag, summary: textIn(flag, language) })),
      exit_codes: exitCodes.map(({ code, ...row }) => ({ code, meaning: textIn(row, language) })),
      environment: environment.map(({ name, ...row }) => ({ name, meaning: textIn(row, language) })),
      errors: Object.entries(errors).map(([code, { exit }]) => ({ code, exit })),
    };
    context.output.line(JSON.stringify(manifest, null, context.output.isTty ? 2 : undefined));
  };

export const version: CommandRun = async (context, flags) => {
  if (flags.sbom === true) return context.output.raw(legalText('sbom'));
  if (flags.licences === true) return context.output.raw(legalText('licences'));
  context.output.object({ version: release, commit }, [`gateway ${release} (${commit})`], release);
};

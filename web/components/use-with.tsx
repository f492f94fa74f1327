/** Ready lines for calling this site with a key: from code, from a shell, from each of the agents. */

import type { TFunction } from 'i18next';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { agents, modelFor, type SetupStep, setupSteps } from '../../server/contract/agents.ts';
import type { Token } from '../../server/contract/entities.ts';
import { textIn } from '../../server/contract/language.ts';
import { displayedKey, shortenedKey } from '../../server/contract/token-key.ts';
import { call } from '../lib/api.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { useOptionalRead } from '../lib/read.ts';
import { chapterOf, useServerAddress, useStatus } from '../lib/status.ts';
import { Icon } from './icon.tsx';
import { Sheet } from './overlay.tsx';
import { Scrolls } from './scrolls.tsx';
import { SelectField } from './select.tsx';

interface Choice {
  readonly name: string;
  readonly steps: readonly SetupStep[];
  readonly note?: string | undefined;
}

const single = (name: string, text: string): Choice => ({ name, steps: [{ path: '', text }] });

const codeChoices = (origin: string, key: string, model: string): readonly Choice[] => [
  single(
    'curl',
    `curl ${origin}/v1/chat/completions \\\n  -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '{"model":"${model}","messages":[{"role":"user","content":"hi"}]}'`,
  ),
  single(
    'Python',
    `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1", api_key="${key}")\nanswer = client.chat.completions.create(\n    model="${model}",\n    messages=[{"role": "user", "content": "hi"}],\n)\nprint(answer.choices[0].message.content)`,
  ),
  single(
    'JavaScript',
    `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' });\nconst answer = await client.chat.completions.create({\n  model: '${model}',\n  messages: [{ role: 'user', content: 'hi' }],\n});\nconsole.log(answer.choices[0].message.content);`,
  ),
  single('Shell', `export OPENAI_BASE_URL=${origin}/v1\nexport OPENAI_API_KEY=${key}`),
  single(
    'LangChain',
    `from langchain_openai import ChatOpenAI\n\nmodel = ChatOpenAI(base_url="${origin}/v1", api_key="${key}", model="${model}")\nprint(model.invoke("hi").content)`,
  ),
  single(
    'Open WebUI',
    `docker run -d -p 8080:8080 \\\n  -e OPENAI_API_BASE_URL=${origin}/v1 \\\n  -e OPENAI_API_KEY=${key} \\\n  ghcr.io/open-webui/open-webui:main`,
  ),
];

/** @param hidden what of the text is not shown; it is copied with it. */
function Step({
  step,
  hidden,
  onCopy,
  t,
}: {
  readonly step: SetupStep;
  readonly hidden: string;
  readonly onCopy: (text: string) => void;
  readonly t: TFunction;
}) {
  const place = step.path === '' ? t('tokens.inShell') : step.path;
  return (
    <section className="mb-3" aria-label={place}>
      <div className="mb-1 flex items-center gap-2">
        <span className="flex-1 font-mono text-[12px] text-ink-2">{place}</span>
        <button
          type="button"
          className="button"
          aria-label={`${t('app.copy')}: ${place}`}
          onClick={() => onCopy(step.text)}
        >
          <Icon name="copy" />
          {t('app.copy')}
        </button>
      </div>
      <Scrolls as="pre" className="code-sample rounded-2 border border-line bg-sunken font-mono text-[12px] leading-5">
        <code>{hidden === '' ? step.text : step.text.replaceAll(hidden, shortenedKey(hidden))}</code>
      </Scrolls>
    </section>
  );
}

/** Named where the account's models are not known. */
const defaultModel = 'gpt-4o-mini';

type UsableToken = Pick<Token, 'name' | 'key' | 'model_limits_enabled' | 'model_limits'>;

/** What the key may ask for, the usual one first. @param own of the reader's account. */
export function useUsableModels(token: UsableToken, own = true): readonly string[] {
  const known = useOptionalRead({ queryKey: ['models'], queryFn: () => call('user.models'), enabled: own }).data ?? [];
  const allowed = token.model_limits_enabled ? token.model_limits.split(',').map((name) => name.trim()) : known;
  const usable = allowed.filter((name) => name !== '');
  return usable.includes(defaultModel) ? [defaultModel, ...usable.filter((name) => name !== defaultModel)] : usable;
}

export interface UseWithProps {
  readonly token: UsableToken;
  readonly onCopy: (text: string) => void;
  /** The key is of the reader's own account, whose models are known. */
  readonly own?: boolean;
  /** Beside the choice of a model. */
  readonly field?: ReactNode;
  /** Only the ends of the key are shown until the reader wants all of it: somebody may look on. */
  readonly masked?: boolean;
}

export function UseWith({ token, onCopy, own = true, field, masked = false }: UseWithProps) {
  const { t } = useTranslation();
  const models = useUsableModels(token, own);
  const [chosenModel, setChosenModel] = useState('');
  const model = chosenModel || (models[0] ?? defaultModel);
  const [selected, setSelected] = useState('curl');
  const [shown, setShown] = useState(false);
  const key = displayedKey(token.key);
  const origin = useServerAddress();
  const chapter = chapterOf(useStatus().data, 'agents');
  const agent = agents.find(({ label }) => label === selected);
  // An agent has a model of its own that it is called with.
  const shownModel = chosenModel || (agent === undefined ? model : modelFor(agent, models));
  const choices: readonly Choice[] = [
    ...codeChoices(origin, key, model),
    ...agents.map((one) => ({
      name: one.label,
      note: one.note && textIn(one.note, currentLanguage()),
      steps: setupSteps(one, { url: origin, key, models, model: chosenModel || modelFor(one, models) }),
    })),
  ];
  const choice = choices.find(({ name }) => name === selected);
  return (
    <>
      <div className={`grid gap-x-4 ${field === undefined ? 'max-w-md' : 'max-w-4xl sm:grid-cols-2'}`}>
        {field}
        {models.length < 2 ? null : (
          <SelectField
            label={t('tokens.snippetModel')}
            value={shownModel}
            options={models.map((name) => [name, name] as const)}
            onChange={setChosenModel}
          />
        )}
      </div>
      <div className="mb-2 flex flex-wrap gap-1">
        {choices.map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === selected}
            className={`min-h-6 rounded-1 px-2 text-[12px] ${name === selected ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
            onClick={() => setSelected(name)}
          >
            {name}
          </button>
        ))}
      </div>
      {choice?.note === undefined ? null : <p className="mb-2 text-ink-2">{choice.note}</p>}
      {choice?.steps.map((step) => (
        <Step key={step.path} step={step} hidden={masked && !shown ? key : ''} onCopy={onCopy} t={t} />
      ))}
      <p className="flex flex-wrap gap-x-5 gap-y-1">
        {masked && choice?.steps.some(({ text }) => text.includes(key)) ? (
          <button
            type="button"
            className="text-accent-text hover:underline"
            aria-pressed={shown}
            onClick={() => setShown(!shown)}
          >
            {t(shown ? 'tokens.hideKey' : 'tokens.showKey')}
          </button>
        ) : null}
        {chapter === null ? null : (
          <a href={chapter} target="_blank" rel="noreferrer">
            {t('tokens.docs')}
          </a>
        )}
      </p>
    </>
  );
}

export function UseWithDrawer({ token, onCopy, onClose }: UseWithProps & { readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Sheet title={t('tokens.useWithTitle', { name: token.name })} onClose={onClose}>
      <UseWith token={token} onCopy={onCopy} masked />
    </Sheet>
  );
}

/** A new key with ready lines for using it, and the fallback when the clipboard is closed to us. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Token } from '../../../server/contract/entities.ts';
import { shownKey } from '../../../server/contract/token-key.ts';
import { Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';

const snippets = (origin: string, key: string, model: string): readonly (readonly [string, string])[] => [
  [
    'curl',
    `curl ${origin}/v1/chat/completions \\\n  -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '{"model":"${model}","messages":[{"role":"user","content":"hi"}]}'`,
  ],
  [
    'Python',
    `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1", api_key="${key}")\nanswer = client.chat.completions.create(\n    model="${model}",\n    messages=[{"role": "user", "content": "hi"}],\n)\nprint(answer.choices[0].message.content)`,
  ],
  [
    'JavaScript',
    `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' });\nconst answer = await client.chat.completions.create({\n  model: '${model}',\n  messages: [{ role: 'user', content: 'hi' }],\n});\nconsole.log(answer.choices[0].message.content);`,
  ],
  ['Claude Code', `export ANTHROPIC_BASE_URL=${origin}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nclaude`],
  [
    'Codex',
    `# ~/.codex/config.toml\nmodel_provider = "gateway"\n\n[model_providers.gateway]\nname = "gateway"\nbase_url = "${origin}/v1"\nwire_api = "responses"\nenv_key = "GATEWAY_KEY"\n\n# then\nexport GATEWAY_KEY=${key}\ncodex`,
  ],
  ['Gemini CLI', `export GOOGLE_GEMINI_BASE_URL=${origin}\nexport GEMINI_API_KEY=${key}\ngemini`],
  [
    'opencode',
    `// opencode.json\n{\n  "provider": {\n    "gateway": {\n      "npm": "@ai-sdk/openai-compatible",\n      "options": { "baseURL": "${origin}/v1", "apiKey": "${key}" },\n      "models": { "${model}": {} }\n    }\n  }\n}`,
  ],
  ['Shell', `export OPENAI_BASE_URL=${origin}/v1\nexport OPENAI_API_KEY=${key}`],
];

/** Named where the account's models are not known. */
const usualModel = 'gpt-4o-mini';

/** What the key may ask for, the usual one first. */
function useUsableModels(token: Token): readonly string[] {
  const known = useAside({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data ?? [];
  const allowed = token.model_limits_enabled ? token.model_limits.split(',').map((name) => name.trim()) : known;
  const usable = allowed.filter((name) => name !== '');
  return usable.includes(usualModel) ? [usualModel, ...usable.filter((name) => name !== usualModel)] : usable;
}

export interface KeyRevealProps {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onCopy: (text: string) => void;
}

/** Looks for the first request with the new key until there is one. */
function FirstRequest({ name }: { readonly name: string }) {
  const { t } = useTranslation();
  const money = useMoney();
  const found = useAside({
    queryKey: ['first-request', name],
    queryFn: () => call('log.self', { p: 1, page_size: 1, token_name: name }),
    refetchInterval: (query) => ((query.state.data?.total ?? 0) > 0 ? false : 2000),
  }).data?.items[0];
  return (
    <p role="status" className="mb-5 flex items-center gap-2 text-ink-2">
      {found === undefined ? (
        t('tokens.waiting')
      ) : (
        <>
          <span className="status">{t('tokens.seen', { model: found.model_name, cost: money(found.quota) })}</span>
          <Link href={`/log?token=${encodeURIComponent(name)}`}>{t('tokens.seeLog')}</Link>
        </>
      )}
    </p>
  );
}

export function KeyReveal({ token, onClose, onCopy }: KeyRevealProps) {
  const { t } = useTranslation();
  const key = shownKey(token.key);
  const models = useUsableModels(token);
  const [wanted, setWanted] = useState('');
  const model = wanted || (models[0] ?? usualModel);
  const lines = snippets(location.origin, key, model);
  const [shown, setShown] = useState('curl');
  const text = lines.find(([name]) => name === shown)?.[1] ?? '';
  return (
    <Drawer title={t('tokens.reveal')} onClose={onClose}>
      <div className="mb-3 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
        <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{key}</code>
        <button type="button" className="button button-primary" onClick={() => onCopy(key)}>
          {t('app.copy')}
        </button>
      </div>
      <FirstRequest name={token.name} />
      <p className="mb-2 text-ink-2">{t('tokens.revealHelp')}</p>
      {models.length < 2 ? null : (
        <select
          className="field mb-2"
          aria-label={t('tokens.snippetModel')}
          value={model}
          onChange={(event) => setWanted(event.target.value)}
        >
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <div className="mb-2 flex flex-wrap gap-1">
        {lines.map(([name]) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shown}
            className={`min-h-6 rounded-1 px-2 text-[12px] ${name === shown ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
            onClick={() => setShown(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <pre className="mb-2 rounded-2 border border-line bg-sunken p-3 font-mono text-[12px] leading-5 break-all whitespace-pre-wrap">
        {text}
      </pre>
      <button type="button" className="button" onClick={() => onCopy(text)}>
        {t('tokens.copySnippet', { name: shown })}
      </button>
    </Drawer>
  );
}

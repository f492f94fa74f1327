/** The pages of the user documentation, in the order of its menu. Their texts lie in `en/` and `zh/`, or are generated elsewhere. */
import type { Text } from '../../server/contract/enum.ts';

export interface DocsPage {
  /** Last part of its address, and the name of its file. */
  readonly slug: string;
  readonly title: Text;
  /** Where the text is written by a generator: its path from the root, by language. */
  readonly generated?: Text;
}

export interface DocsSection {
  readonly title: Text;
  readonly pages: readonly DocsPage[];
}

const page = (slug: string, title: Text): DocsPage => ({ slug, title });
const generated = (slug: string, title: Text, path: string): DocsPage => ({
  ...page(slug, title),
  generated: { en: `${path}.md`, zh: `${path}.zh.md` },
});

export const docsSections: readonly DocsSection[] = [
  {
    title: { en: 'Start', zh: '开始' },
    pages: [
      page('index', { en: 'What gateway is', zh: '这是什么' }),
      page('quick-start', { en: 'Quick start', zh: '快速开始' }),
      page('install', { en: 'Install', zh: '安装' }),
      page('agents', { en: 'Coding agents', zh: '编程智能体' }),
      page('migration', { en: 'Moving from another gateway', zh: '迁移' }),
    ],
  },
  {
    title: { en: 'Run a site', zh: '运营站点' },
    pages: [
      page('channels', { en: 'Channels', zh: '渠道' }),
      page('billing', { en: 'Prices and billing', zh: '价格与计费' }),
      page('users', { en: 'Users and keys', zh: '用户与令牌' }),
      page('api', { en: 'API and scripts', zh: 'API 与脚本' }),
    ],
  },
  {
    title: { en: 'Operate', zh: '运维' },
    pages: [
      page('service', { en: 'Service, upgrade, backup', zh: '服务、升级与备份' }),
      page('monitoring', { en: 'Monitoring and overload', zh: '监控与过载' }),
      page('several-machines', { en: 'Several machines', zh: '多台机器' }),
      page('security', { en: 'Security', zh: '安全' }),
      page('performance', { en: 'Performance', zh: '性能' }),
      page('troubleshooting', { en: 'Troubleshooting', zh: '故障排查' }),
    ],
  },
  {
    title: { en: 'Reference', zh: '参考' },
    pages: [
      page('glossary', { en: 'Glossary', zh: '术语表' }),
      generated('commands', { en: 'Commands', zh: '命令' }, 'cli/COMMANDS'),
      generated('options', { en: 'Options', zh: '选项' }, 'server/contract/OPTIONS'),
      generated('providers', { en: 'Providers', zh: '上游类型' }, 'server/providers/PROVIDERS'),
      generated('agent-settings', { en: 'Agent settings', zh: '智能体配置' }, 'cli/AGENTS'),
    ],
  },
];

export const docsPages: readonly DocsPage[] = docsSections.flatMap(({ pages }) => pages);

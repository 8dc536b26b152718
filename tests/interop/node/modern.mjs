// @modelcontextprotocol/client, which speaks the version that has events: list, poll, an error, a stream, the tools.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { say } from './said.mjs';

const [url, scope] = process.argv.slice(2);
const anything = z.looseObject({});
const client = new Client(
  { name: 'interop', version: '1.0.0' },
  { capabilities: { extensions: { 'io.modelcontextprotocol/events': {} } }, versionNegotiation: { mode: 'auto' } },
);
const frames = [];
let heard = () => {};
for (const kind of ['active', 'event', 'heartbeat', 'error', 'terminated']) {
  client.setNotificationHandler(`notifications/events/${kind}`, { params: anything }, (params) => {
    frames.push({ kind, params });
    heard();
  });
}
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => (heard = resolve));
};

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
say('version', client.getNegotiatedProtocolVersion());
say('capabilities', client.getServerCapabilities());
const listed = await client.request({ method: 'events/list', params: {} }, anything);
say('events', listed.events.map((each) => [each.name, each.delivery]));

const name = 'attention.decision';
const subscription = { name, arguments: { scope }, cursor: 'start' };
const polled = [];
let page = { cursor: subscription.cursor, hasMore: true };
while (page.hasMore) {
  page = await client.request(
    { method: 'events/poll', params: { ...subscription, cursor: page.cursor, maxEvents: 1 } },
    anything,
  );
  polled.push(...page.events.map((each) => each.eventId));
}
say('polled', polled);

try {
  await client.request({ method: 'events/poll', params: { name: 'nope' } }, anything);
} catch (error) {
  say('error', { code: error.code, data: error.data });
}

const stop = new AbortController();
const streaming = client
  .request({ method: 'events/stream', params: subscription }, anything, { timeout: 2 ** 31 - 1, signal: stop.signal })
  .then(() => 'ended', () => 'aborted');
await until(() => frames.filter((frame) => frame.kind === 'event').length >= polled.length);
await until(() => frames.some((frame) => frame.kind === 'heartbeat'));
say('streamed', frames.filter((frame) => frame.kind === 'event').map((frame) => frame.params.eventId));
say('first', frames[0].kind);
stop.abort();
say('stream', await streaming);

const tools = await client.listTools();
say('tools', tools.tools.map((tool) => tool.name));
const waited = await client.callTool({ name: 'attend_wait', arguments: { scope, cursor: 'start', waitSeconds: 0 } });
say('waited', waited.structuredContent.decisions.map((each) => each.decisionId));
const window = await client.callTool({ name: 'attend_window', arguments: { decisionId: polled[0] } });
say('window', window.structuredContent.decisionId);
await client.close();

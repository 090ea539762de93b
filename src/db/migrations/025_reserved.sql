-- serves_from: 23
SELECT 1;
